// Reads the public data of Tiresias (NSDI 2019): a trace of 60 jobs, and how much service jobs of a production cluster
// took, which the Gittins index needs.
//
// Trace      CSV: job_id, num_gpu, submit_time (s), iterations, model_name, duration (s), interval
// Samples    CSV: duration (GPU-seconds)
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"

namespace fairlead::trace {

// The neutral form. Args: gpus_per_host > 0, of the cluster that it is for: the data says nothing about hosts. Errors:
// kNotFound; kInvalidArgument with file:line for an invalid or out-of-range number, or a duplicate job_id.
Result<Trace> LoadTiresiasTrace(const std::string& path, uint32_t gpus_per_host);
// The same from a stream; `name` replaces the file name in messages.
Result<Trace> ReadTiresiasTrace(std::unique_ptr<std::istream> stream, const std::string& name, uint32_t gpus_per_host);

// GPU-seconds, in the order of the file. Errors: kNotFound; kInvalidArgument with file:line for what is no number above
// 0, or no row at all.
Result<std::vector<double>> LoadServiceSamples(const std::string& path);

}  // namespace fairlead::trace
