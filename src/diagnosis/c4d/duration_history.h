// How long the operations of a communicator usually take, by kind and size.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// The latest durations of each kind and power of two of bytes.
class DurationHistory {
 public:
  static constexpr size_t kCapacity = 9;

  void Add(model::OperationKind kind, uint64_t bytes, SimDuration duration);

  // Of the latest kCapacity operations of that kind and size; 0 if there was none.
  SimDuration Median(model::OperationKind kind, uint64_t bytes) const;

 private:
  struct Entry {
    model::OperationKind kind;
    uint8_t size_class;
    uint32_t count = 0;
    std::array<float, kCapacity> seconds = {};
  };

  std::vector<Entry> entries_;
};

}  // namespace fairlead::diagnosis::c4d
