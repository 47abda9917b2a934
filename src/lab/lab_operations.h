// What a job's workers ask of a communication library in each phase: from flows between hosts to communicators and
// operations on them.
//
// Problem     a model's iteration is phases of flows. A library knows groups of ranks, calls that all ranks of a group
//             make alike, and channels between peers. Here a host is one rank.
// Method      the phase's name says what it does, as iterations are built (collective/): all-reduce, all-gather,
//             reduce-scatter, broadcast: one collective for each set of hosts that a group of flows visits; groups over
//             the same hosts, such as rings on several rails, are channels of it. All else, such as all-to-all and
//             sends between stages: a send and a receive for each pair of hosts, as NCCL does it, on a communicator of
//             all hosts that are connected by flows. Communicators are sets of hosts: hosts that meet again in another
//             phase use the same one. Bytes are those that the caller would state: all-reduce of S moves 2 (n-1) S
//             between n hosts, the other collectives (n-1) S.
// Cost        O(flows log flows) a phase.
// Guarantees  all members of a communicator make the same calls of collectives on it, in the same order. Both ends of a
//             channel know the same connections by it. Same arguments, same plans.
// Differs     what stays inside a host is no operation: NVLink shows a profiler kernels only, and a rank's kernels here
//             are those of its host. More than 64 channels between two hosts share them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

// A flow between two hosts in a phase.
struct HostFlow {
  uint32_t group = 0;  // model::FlowDemand's
  size_t sender = 0;   // worker
  size_t receiver = 0;
  NicId source;
  NicId destination;
  uint32_t number = 0;  // among those of the phase with these NICs
  uint64_t bytes = 0;
  // Of its queue pairs: indices into the plans of both workers.
  std::vector<uint32_t> at_sender;
  std::vector<uint32_t> at_receiver;
};

class OperationPlanner {
 public:
  explicit OperationPlanner(std::string job) : job_(std::move(job)) {}

  // Adds the operations of a phase to the last phase of each plan. Args: name: the phase's; plans [worker].
  void AddPhase(const std::string& name, const std::vector<HostFlow>& flows, const std::vector<TrainerPlan*>& plans);

 private:
  struct Communicator {
    uint64_t id = 0;
    std::string name;
    std::map<size_t, uint32_t> place_in_plan;  // [worker]
    // [sender, receiver] which channel a pair's flow over these NICs uses
    std::map<std::pair<size_t, size_t>, std::map<std::tuple<NicId, NicId, uint32_t>, uint32_t>> channels;
  };
  using Members = std::vector<size_t>;  // workers, ascending

  void AddCollectives(const std::string& name, const std::vector<HostFlow>& flows,
                      const std::vector<TrainerPlan*>& plans);
  void AddTransfers(const std::string& name, const std::vector<HostFlow>& flows,
                    const std::vector<TrainerPlan*>& plans);
  Communicator& CommunicatorOf(const Members& members, const std::string& phase,
                               const std::vector<TrainerPlan*>& plans);
  // The end of a flow at one of its workers, as a channel of an operation of it.
  static void AddChannel(const HostFlow& flow, bool is_send, uint32_t channel, const Members& members,
                         OperationPlan* operation);
  static uint32_t ChannelOf(const HostFlow& flow, Communicator* communicator);

  std::string job_;
  std::map<Members, Communicator> communicators_;
};

}  // namespace fairlead::lab
