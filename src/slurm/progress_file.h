// How far a job is, from a file that it writes itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::slurm {

// The number of steps that the job has done, 0 or more, as a decimal number with nothing but white space around it.
// The file's path is its user's word, so only a regular file of that user is opened, no symbolic link, no more than a
// number's bytes are read, and nothing of what stands there is told. A file system that does not answer blocks.
// Errors: kNotFound: there is no such file (yet); kInvalidArgument: it is not as above: which rule it breaks.
Result<double> ReadProgressFile(const std::string& path, uint32_t owner);

// When the file was written last, since 1970; nothing: there is no such file of that user. Nothing of it is read.
std::optional<SimTime> TimeOfFile(const std::string& path, uint32_t owner);

}  // namespace fairlead::slurm
