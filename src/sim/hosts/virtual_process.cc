#include "sim/hosts/virtual_process.h"

#include <utility>

#include "base/check.h"

namespace fairlead::sim::hosts {

void VirtualProcess::Start() {
  FL_CHECK(!is_alive_);
  ++incarnation_;
  is_alive_ = true;
  is_stopped_ = false;
  running_since_ = queue_.now();
}

void VirtualProcess::Kill() {
  is_alive_ = is_stopped_ = false;
  suspended_.clear();
}

bool VirtualProcess::Continue() {
  if (!is_alive_ || !std::exchange(is_stopped_, false)) return false;
  running_since_ = queue_.now();
  const uint64_t mine = incarnation_;
  for (const std::function<void()>& work : std::exchange(suspended_, {})) {
    if (Is(mine)) work();
  }
  return Is(mine);
}

void VirtualProcess::After(SimDuration delay, std::function<void()> work) {
  queue_.After(delay, [this, mine = incarnation_, work = std::move(work)] {
    if (!Is(mine)) return;
    if (is_stopped_) {
      suspended_.push_back(work);
    } else {
      work();
    }
  });
}

}  // namespace fairlead::sim::hosts
