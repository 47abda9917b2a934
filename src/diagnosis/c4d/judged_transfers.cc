#include "diagnosis/c4d/judged_transfers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "diagnosis/c4d/transfer_path.h"

namespace fairlead::diagnosis::c4d {

void JudgedTransfers::Set(std::span<const PairDelay> pairs) {
  judged_.clear();
  judged_.reserve(pairs.size());
  for (const PairDelay& pair : pairs) judged_.push_back({pair.transfer, std::exp(pair.x)});
}

bool JudgedTransfers::SaysNothingOf(const model::Culprit& culprit) const {
  return std::ranges::none_of(judged_,
                              [&](const Judged& judged) { return IsPassedBy(layout_, judged.transfer, culprit); });
}

std::vector<model::TransferDelay> JudgedTransfers::DelaysOf(std::span<const model::Culprit> culprits, size_t num_max,
                                                            uint32_t* num_left_out) const {
  // Planes of a pair are neighbours.
  std::vector<model::TransferDelay> delays;
  for (const auto& [transfer, ratio] : judged_) {
    if (delays.empty() || delays.back().source != transfer.source ||
        delays.back().destination != transfer.destination) {
      delays.push_back({.source = transfer.source, .destination = transfer.destination, .ratio = 0});
    }
    delays.back().ratio = std::max(delays.back().ratio, ratio);
    for (const model::Culprit& culprit : culprits) {
      delays.back().is_accused = delays.back().is_accused || IsAccusedBy(layout_, transfer, culprit);
    }
  }
  *num_left_out = static_cast<uint32_t>(delays.size() - std::min(delays.size(), num_max));
  if (*num_left_out == 0) return delays;
  std::ranges::stable_sort(delays, std::greater(), [](const auto& d) { return std::pair(d.is_accused, d.ratio); });
  delays.resize(num_max);
  std::ranges::sort(delays, {}, [](const auto& d) { return std::pair(d.source, d.destination); });
  return delays;
}

}  // namespace fairlead::diagnosis::c4d
