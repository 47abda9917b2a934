// Does a rank receive more than its like in exchanges of all with all? Then it may take longer as it has more to do.
//
// Problem     a router of experts sends some of them more tokens than others, for as long as it likes: their GPUs take
//             longer, and nothing is wrong with them.
// Method      bytes received over the network, of each rank and communicator, fading by half in kHalfLife, against the
//             median of the communicator. Of rings, trees and pipelines it says nothing: what their members receive
//             follows from their place.
// Cost        O(1) for each connection of a report; memory linear in the ranks' communicators.
// Limits      what is exchanged within a host is not seen.
#pragma once

#include <functional>
#include <vector>

#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class ReceivedLoad {
 public:
  static constexpr double kHalfLife = 30;  // s

  // `layout` must outlive it.
  explicit ReceivedLoad(const model::JobLayout& layout)
      : layout_(layout), ranks_(layout.ranks.size()), has_all_to_all_(layout.communicators.size()) {}

  // Reports of each rank in their order.
  void Add(const model::RankReport& report);

  // How many times as much as the median member it receives, in the communicator where that is most; 1: no more, or not
  // known. Args: is_exchange: whether all exchange with all there by sends and receives.
  double FactorOf(model::RankId rank, const std::function<bool(model::CommunicatorId)>& is_exchange) const;

 private:
  struct Received {
    model::CommunicatorId communicator;
    double bytes = 0;  // as of `at`
    SimTime at;
  };
  double BytesOf(model::RankId rank, model::CommunicatorId communicator, SimTime at) const;

  const model::JobLayout& layout_;
  std::vector<std::vector<Received>> ranks_;
  std::vector<bool> has_all_to_all_;  // [communicator] operations of that kind
};

}  // namespace fairlead::diagnosis::c4d
