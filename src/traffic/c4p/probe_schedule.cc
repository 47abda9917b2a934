#include "traffic/c4p/probe_schedule.h"

#include "topology/fabric.h"

namespace fairlead::traffic::c4p {

std::optional<ProbeRoundStarted> ProbeSchedule::StartRound(SimTime now) {
  if (now < next_round_) return std::nullopt;
  next_round_ = now + period_;
  std::erase_if(heard_at_, [&](const auto& host) { return host.second + term_ <= now; });
  if (heard_at_.size() < 2) return std::nullopt;
  const topology::Fabric& fabric = catalogue_->fabric();
  const ProbeView view = {.num_paths = [this](NodeId from, NodeId to) { return catalogue_->Paths(from, to).num_paths; },
                          .can_probe = [&](NicId nic, uint32_t) { return heard_at_.contains(fabric.host_of(nic)); }};
  ProbeRoundStarted round = {.round = num_rounds_ + 1, .tasks = {}};
  plan_.NextRound(view, [&](const ProbePair& pair) {
    round.tasks.push_back({.pair = pair, .epoch = ports_.EpochOf(pair.source_leaf, pair.destination_leaf)});
  });
  if (round.tasks.empty()) return std::nullopt;
  ++num_rounds_;
  return round;
}

}  // namespace fairlead::traffic::c4p
