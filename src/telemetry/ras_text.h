// NCCL RAS: what `ncclras` answers without `-f json`, as do all versions since NCCL 2.24.
//
// Problem     the text is for people: it has ranks one by one only where they differ from most.
// Method      a communicator has its size from the table of groups. A rank that is not named is one of those that are
//             only counted ("7 ranks have launched up to operation 240"); where several such groups are unnamed,
//             nothing is known of that kind of operation, and the notes say so.
// Limits      communicators of which all ranks are alike have no counts. There is no time.
// Reference   NVIDIA/nccl, src/ras/client_support.cc
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "telemetry/nccl_ras.h"

namespace fairlead::telemetry {

// Whether a file may be one. Args: head: its beginning, of which 64 KiB are enough.
bool IsRasText(std::string_view head);

// Args: name: replaces the file in messages. Errors: kInvalidArgument, "name:line: …": cut off, or no such text.
Result<RasSnapshot> ParseRasText(const std::string& text, const std::string& name);

}  // namespace fairlead::telemetry
