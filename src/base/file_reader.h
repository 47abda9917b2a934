// How files are read: whole, or their ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace fairlead {

// All bytes of the file at `path`. Its size need not be known: a pipe, or a file of /proc, is read to its end.
// Args: max_bytes: of a longer file no more is read than tells that it is longer.
// Errors, each naming `path`: kNotFound (there is none), kResourceExhausted (longer than max_bytes),
// kFailedPrecondition (a folder, no right to it, a broken disk, …).
Result<std::string> ReadWholeFile(const std::string& path, size_t max_bytes = SIZE_MAX);

// The last bytes of a file that others may append to: `max_bytes`, or all of a shorter one; fewer where it is cut short
// meanwhile. Errors: kNotFound, kFailedPrecondition (no regular file, …), each naming `path`.
Result<std::string> ReadEndOfFile(const std::string& path, size_t max_bytes);

// All bytes of a file that comes and goes, as those of /proc/PID do: empty where there is nothing to be read.
std::string ReadFileIfThere(const std::string& path);

}  // namespace fairlead
