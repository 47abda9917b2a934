// What did the latest window show of each transfer? For people, and to tell silence from health.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/c4d/pair_delays.h"
#include "diagnosis/c4d/slow_elements.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class JudgedTransfers {
 public:
  // Args: layout, must outlive this.
  explicit JudgedTransfers(const model::JobLayout& layout) : layout_(layout) {}

  // Replaces what was there. Args: pairs, ascending by (source, destination, plane).
  void Set(std::span<const PairDelay> pairs);

  // Those that the culprits accuse, and of the others the slowest, `num_max` in all, ascending; and how many are left
  // out. Planes are taken together: the slowest counts.
  std::vector<model::TransferDelay> DelaysOf(std::span<const model::Culprit> culprits, size_t num_max,
                                             uint32_t* num_left_out) const;

  // Whether none of them passes it.
  bool SaysNothingOf(const model::Culprit& culprit) const;

 private:
  struct Judged {
    Transfer transfer;
    double ratio = 1;  // time for a message over what is normal
  };

  const model::JobLayout& layout_;
  std::vector<Judged> judged_;
};

}  // namespace fairlead::diagnosis::c4d
