// How far a job had come when it last wrote that down: {"iteration": n}, n iterations are done.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fairlead::lab {

// 0: no file. Errors: kInvalidArgument: it is none, naming `path`.
Result<uint64_t> ReadCheckpoint(const std::string& path);

// Readers see the old one or the new one. Errors: those of WriteFileAtomically.
Status WriteCheckpoint(const std::string& path, uint64_t iterations);

}  // namespace fairlead::lab
