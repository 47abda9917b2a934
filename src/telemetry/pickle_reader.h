// Data of a Python pickle, read without executing anything.
//
// Problem     PyTorch's flight recorder writes pickles by default. Python's own reader runs whatever a pickle names,
//             so a file of a stranger may do anything. The recorder needs data only: numbers, texts, lists,
//             dictionaries.
// Method      a machine for the opcodes that build data, of protocols 2 to 5; all that import, call or build objects
//             are refused by name. Values live in one table and refer to each other by index, as Python's memo does; at
//             the end what hangs on the last one becomes JSON: tuples are lists, keys that are numbers are texts,
//             members that are None are left out.
// Cost        O(bytes); what the memo shares is copied, at most kCopiesMax values for each byte of input.
// Guarantees  no more than a fixed multiple of the input in memory; nested kPickleDepthMax deep at most.
// Reference   Python's pickletools; pytorch/pytorch, torch/csrc/jit/serialization/pickler.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/json_archive.h"

namespace fairlead::telemetry {

inline constexpr size_t kPickleDepthMax = 16;

// Whether it looks like one of protocol 2 or later.
bool IsPickle(std::string_view bytes);

// Args: name: of the file, for messages. Errors: kInvalidArgument, "name: byte 17: …".
Result<codec::Json> ParsePickle(std::string_view bytes, const std::string& name);

}  // namespace fairlead::telemetry
