// How a receiver tells the sender at the other end of a connection how many messages it has room for: numbers of eight
// bytes against the direction of the data, each counted from the beginning, so that only the latest one matters.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/status.h"

namespace fairlead::lab {

class ClearanceWriter {
 public:
  // Returns whether it is on its way; else the connection takes no more now, and the next call tries again. Never
  // blocks. Errors: kUnavailable: the connection is broken; why.
  Result<bool> Write(int socket, uint64_t messages);

 private:
  std::array<char, 8> bytes_ = {};  // of a number that went out in part
  size_t num_left_ = 0;
};

class ClearanceReader {
 public:
  // The latest number that has come; nothing: none. Never blocks.
  // Errors: kUnavailable: the connection is broken or closed; why.
  Result<std::optional<uint64_t>> Read(int socket);

 private:
  std::array<char, 8> bytes_ = {};  // of a number that has come in part
  size_t num_have_ = 0;
};

}  // namespace fairlead::lab
