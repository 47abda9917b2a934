#include "diagnosis/c4d/slowness_window.h"

#include <algorithm>
#include <utility>

namespace fairlead::diagnosis::c4d {
namespace {

// Blocks of iterations that make a window of whatever has few operations.
constexpr double kBlocksOfWindow = 2;

}  // namespace

void SlownessWindow::Begin(SimTime now, std::vector<uint64_t> completed) {
  begin_ = now;
  stood_still_ = false;
  completed_at_begin_ = std::move(completed);
}

std::optional<bool> SlownessWindow::End(SimTime now, std::span<const uint64_t> completed, double block_seconds) const {
  if (!MayEnd(now)) return std::nullopt;
  const SimDuration age = now - begin_;
  const bool has_blocks = block_seconds > 0 && age.seconds().value() >= kBlocksOfWindow * block_seconds;
  const bool is_full = IsFull(completed, has_blocks ? 1 : options_.operations);
  if (!is_full && age < options_.length * options_.max_lengths) return std::nullopt;
  return is_full && !stood_still_;
}

bool SlownessWindow::IsFull(std::span<const uint64_t> completed, uint64_t operations) const {
  std::vector<uint64_t> of_window;  // of communicators on which anything ran
  for (size_t c = 0; c < completed_at_begin_.size(); ++c) {
    if (completed[c] > completed_at_begin_[c]) of_window.push_back(completed[c] - completed_at_begin_[c]);
  }
  if (of_window.empty()) return false;
  const auto median = of_window.begin() + static_cast<ptrdiff_t>(of_window.size() / 2);
  std::nth_element(of_window.begin(), median, of_window.end());
  return *median >= operations;
}

}  // namespace fairlead::diagnosis::c4d
