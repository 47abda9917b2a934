// The fluid network of a contention domain: what the transfers of its jobs carry, at which rates, and what holds them.
//
// It knows variables and local links (network_layout.h), not jobs: the domain says when a variable starts, and hears
// when one has ended. Time is local to the domain (domain_time.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "fluid/flow_network.h"
#include "sim/congestion_loss.h"
#include "sim/job_state.h"
#include "sim/network_layout.h"

namespace fairlead::sim {

class DomainNetwork {
 public:
  // Nothing is sent at first. Args: levels: [job] below fluid::FlowNetwork::kMaxLevels. congestion: outlives this; null:
  // full links lose nothing.
  DomainNetwork(NetworkLayout layout, std::vector<uint32_t> levels, CongestionPoints* congestion);
  DomainNetwork(const DomainNetwork&) = delete;
  DomainNetwork& operator=(const DomainNetwork&) = delete;

  const std::vector<uint32_t>& levels() const { return levels_; }
  const std::vector<LocalLink>& links() const { return links_; }
  const FluidVariable& variable(size_t v) const { return variables_[v]; }
  std::span<const FluidVariable> variables() const { return variables_; }
  std::span<const FluidVariable> VariablesOf(uint32_t j) const {
    return Between(first_variable_[j].front(), first_variable_[j].back());
  }
  std::span<const FluidVariable> VariablesOf(uint32_t j, uint32_t phase) const {
    return Between(first_variable_[j][phase], first_variable_[j][phase + 1]);
  }

  // Args: bytes: of each transfer.
  void Start(const FluidVariable& variable, double bytes) {
    network_.Start(variable.flow, bytes * variable.width);
    ++num_sending_[variable.job];
  }
  // How many variables job j sends, those that have ended included until TakeEnd().
  uint32_t num_sending(uint32_t j) const { return num_sending_[j]; }
  // To be called for each variable that has ended. True when its job sends nothing else.
  bool TakeEnd(const FluidVariable& variable) { return --num_sending_[variable.job] == 0; }

  // When a variable ends as things are; kNeverNs: none does.
  int64_t NextEndNs() { return network_.NextCompletion().ns(); }
  // Moves the clock, not beyond NextEndNs(). Returns the variables that end there, ascending; valid until the next call.
  std::span<const fluid::FlowId> AdvanceTo(int64_t local_ns) {
    ended_.clear();
    network_.AdvanceTo(SimTime(local_ns), &ended_);
    return ended_;
  }

  bool IsSending(const FluidVariable& variable) const { return network_.active(variable.flow); }
  // Bytes/s, and bytes, of the whole variable; 0 where it does not send.
  double Rate(const FluidVariable& variable) { return network_.Rate(variable.flow); }
  double Left(const FluidVariable& variable) const { return network_.Remaining(variable.flow); }
  // Of a variable that sends, at present rates.
  double SecondsLeft(const FluidVariable& variable) { return network_.SecondsLeft(variable.flow); }
  // A variable that sends weighs `push` (> 0) times as much as others of its width do.
  void SetPush(const FluidVariable& variable, double push) {
    network_.SetWeight(variable.flow, variable.weight() * push);
  }
  // Its hosts send no more than `per_s` bytes/s of it, because of a local link; fluid::kNoLink: because of its own paths.
  // It has a link of its own.
  void SetPace(const FluidVariable& variable, double per_s, uint32_t local_link);

  // The variable goes over other local links, the last of them its own, at `per_s` bytes/s at most.
  // Args: from: its links so far.
  void SetRoute(const FluidVariable& variable, std::span<const fluid::LinkUse> from, std::span<const fluid::LinkUse> to,
                double per_s);
  // Bytes/s over a local link.
  double Load(uint32_t local_link) { return network_.Load(local_link); }

  // The contended link that bounds a variable that sends; null: none does.
  const LocalLink* FindBottleneck(const FluidVariable& variable);

  // A bit for each observer of the rates over a local link, up to 64.
  void SetWatchers(uint32_t local_link, uint64_t watchers) { network_.SetWatchers(local_link, watchers); }
  // The watchers of links over which a rate may have changed since the last call.
  uint64_t TakeChanged() { return network_.TakeChanged(); }

  // What full links lose; null where it is not modelled. Wants an Update() when variables have started or ended.
  CongestionLoss* congestion() { return congestion_.get(); }
  const CongestionLoss* congestion() const { return congestion_.get(); }
  // Counts up to now, and reports the queues of its links. To be called once, at the end.
  void SettleQueues(int64_t local_ns);

 private:
  struct Pace {
    uint32_t own_link = fluid::kNoLink;  // local; kNoLink: it has none
    uint32_t reason = fluid::kNoLink;    // local link
  };

  std::span<const FluidVariable> Between(uint32_t begin, uint32_t end) const {
    return {variables_.data() + begin, variables_.data() + end};
  }
  void AddCongestion(CongestionPoints* points, std::vector<std::vector<fluid::LinkUse>> uses);

  std::vector<uint32_t> levels_;                       // [job]
  std::vector<FluidVariable> variables_;               // by job, then by phase
  std::vector<std::vector<uint32_t>> first_variable_;  // [job][phase], one more at the end
  std::vector<LocalLink> links_;                       // [local link]
  fluid::FlowNetwork network_;
  std::vector<uint32_t> num_sending_;  // [job] variables
  std::vector<fluid::FlowId> ended_;   // at the last AdvanceTo()
  std::unique_ptr<CongestionLoss> congestion_;
  CongestionPoints* points_ = nullptr;  // with congestion_
  std::vector<Pace> paces_;             // [variable]; empty where no job is paced
};

// [job]: levels in the same order without gaps, since each costs the network time and memory. Those beyond its limit
// become the last one.
std::vector<uint32_t> ComputeLocalLevels(std::span<const JobState* const> jobs);

}  // namespace fairlead::sim
