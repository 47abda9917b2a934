#include "agent/training_addresses.h"

#include <algorithm>

namespace fairlead::agent {

bool TrainingAddresses::IsNic(const IpAddress& address) const {
  return std::find(nics_.begin(), nics_.end(), address) != nics_.end();
}

void TrainingAddresses::AddStranger(const IpAddress& address, SimTime now) {
  std::erase_if(strangers_, [&](const auto& stranger) {
    return stranger.second <= now || strangers_.size() >= num_strangers_max_;
  });
  strangers_[address] = now + stranger_memory_;
}

bool TrainingAddresses::IsStranger(const IpAddress& address, SimTime now) const {
  const auto found = strangers_.find(address);
  return found != strangers_.end() && now < found->second;
}

}  // namespace fairlead::agent
