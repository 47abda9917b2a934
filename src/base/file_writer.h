// How results reach the disk: whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead {

// Replaces the file at `path` by one that holds `content`. Readers see the old file or the new one, never a part: the
// content goes to a hidden file beside `path` (".NAME.PID-N.tmp"), is synced, and then renamed. On an error the old
// file is untouched and the hidden file is gone; a process killed in between leaves the old file and the hidden one.
// Keeps the permissions of a replaced file and follows a symbolic link to it. Devices and pipes (/dev/stdout) are
// written directly. Errors, each naming `path`: kNotFound (no such folder), kResourceExhausted (disk, quota or file
// size limit), kFailedPrecondition
//   (not writable, a folder, …), kInvalidArgument (empty path).
// Cost: one write of the content and two syncs. Thread: any; of two writers of one path the later rename wins.
// Args: kProcess: what has been written outlives this process, but perhaps not a power cut; no syncs.
enum class Outlives { kPowerCut, kProcess };
Status WriteFileAtomically(const std::string& path, std::string_view content, Outlives what = Outlives::kPowerCut);

}  // namespace fairlead
