// Who waits for whom at the time of a finding, from the master's picture of the job.
#pragma once

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/wait_graph.h"
#include "model/finding.h"
#include "model/wait_picture.h"

namespace fairlead::diagnosis::c4d {

// Ranks wait inside of operations, and operations for ranks that have not begun them; where data has stopped, ranks
// wait for each other and for connections. Culprits of the finding are marked.
// Cost: that of BuildWaitGraph, times a logarithm.
model::WaitPicture PictureWaits(const JobPicture& picture, const model::Finding& finding, const WaitGraphQuery& query);

}  // namespace fairlead::diagnosis::c4d
