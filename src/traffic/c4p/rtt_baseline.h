// RTT baseline: how unusual a link's round-trip time is against its own past.
//
// Method      z = (log rtt - median) / max(1.4826 MAD, log 1.05) over the logarithms of the last kCapacity samples,
//             MAD the median of the absolute deviations. Up to half of the samples may be wild without moving it far.
//             With the floor, z >= 5 needs an RTT of 1.05^5 = 1.28 times the median or more.
// Cost        O(kCapacity) a score, O(1) a sample; 4 bytes a sample, no allocation.
// Reference   docs/spec/c4.md section 5.2 (robust scoring).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"

namespace fairlead::traffic::c4p {

class RttBaseline {
 public:
  static constexpr size_t kCapacity = 32;
  // With fewer samples nothing is unusual.
  static constexpr size_t kMinSamples = 8;

  // Takes the place of the oldest sample when there are kCapacity. Args: rtt > 0, finite.
  void Add(Seconds rtt);
  // z of `rtt` > 0, finite; nothing with fewer than kMinSamples.
  std::optional<double> Score(Seconds rtt) const;
  // Median of the samples; 0 without any.
  Seconds Median() const;

  size_t size() const { return size_; }

 private:
  std::array<float, kCapacity> logs_{};
  uint8_t size_ = 0;
  uint8_t next_ = 0;
};

}  // namespace fairlead::traffic::c4p
