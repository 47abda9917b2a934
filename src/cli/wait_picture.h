// Who waits for whom at the time of a finding, from the master's picture of the job.
#pragma once

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/wait_graph.h"
#include "model/finding.h"
#include "report/wait_graph_figure.h"

namespace fairlead::cli {

// Ranks wait inside of operations, and operations for ranks that have not begun them; where data has stopped, ranks
// wait for each other and for connections. Culprits of the finding are marked.
report::WaitGraphFigure PictureWaits(const diagnosis::c4d::JobPicture& picture, const model::Finding& finding,
                                     const diagnosis::c4d::WaitGraphQuery& query);

}  // namespace fairlead::cli
