// The C4D master as the diagnosis of a job.
#pragma once

#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/job_diagnosis.h"
#include "model/place_names.h"

namespace fairlead::diagnosis::c4d {

// Args: options valid; names: for texts.
JobDiagnosisFactory DiagnoseByC4d(const C4dOptions& options, model::PlaceNames names = {});

}  // namespace fairlead::diagnosis::c4d
