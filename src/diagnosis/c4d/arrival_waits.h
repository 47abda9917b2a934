// By how much was each rank late where it is not known when its kernels began and ended?
//
// Problem     NCCL's kernel events are wrong on a communicator on which a rank has sent to itself, as PyTorch's
//             all_to_all_single does: operations seem to begin and end when they are enqueued. So what a rank did
//             between them is not known, and nothing tells when it arrived.
// Notation    arrival: a message that has come in and waits for the GPU to take it, as all do while the rank is late
//             W: seconds that arrivals of a rank have waited, summed;  C: its connections with arrivals
//             S: messages of an operation on a connection, at most the kSlots that NCCL has under way: all of them
//             wait for one lateness
// Method      own = W / (C S), on communicators of which an operation has no duration. In exchanges of all with all
//             only: in rings and pipelines what is late fills the buffers of others, too, and theirs wait as well.
//             Blocks of some seconds, of all ranks at once, are judged by SlowRankWatch.
// Cost        O(operations and connections of a report) a report, O(ranks) a block.
// Guarantees  nothing of jobs whose operations have durations; a report that is lost, late or repeated adds nothing.
// Limits      arrivals over the network only: ranks whose peers are all on their host have none. What many messages
//             take to be taken counts, too: SlowRankWatch compares with others and with the past.
// Reference   docs/papers/c4.md, "On real jobs".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/iteration_blocks.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class ArrivalWaits {
 public:
  // Args: layout, must outlive this.
  explicit ArrivalWaits(const model::JobLayout& layout);

  void Add(const model::RankReport& report);
  // No time is counted from what was added to what comes. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { ranks_[rank.index()].newest.reset(); }

  // Whether operations have no durations on it, and its ranks exchange all with all. It must be of the layout.
  bool IsOf(model::CommunicatorId communicator) const { return communicators_[communicator.index()].is_exchange; }
  // Whether there is any such.
  bool HasAny() const;
  // [rank] those of equal number exchange with each other.
  std::vector<uint32_t> Roles() const;

  // Ends the block if it has lasted long enough. Returns: of each rank that was seen all the time, in seconds of it.
  std::vector<BlockSample> TakeBlock(SimTime now);

 private:
  // NCCL's buffers of a connection.
  static constexpr double kSlots = 8;
  // Operations that tell whether they have durations, and the share that has to be without.
  static constexpr uint64_t kOperationsMin = 64;
  static constexpr double kShareWithout = 0.9;
  // Ranks that a rank gets messages from: stages of pipelines and rings have two at most.
  static constexpr size_t kPeersMin = 3;
  static constexpr SimDuration kBlock = SimDuration(2'000'000'000);
  // Share of the block that must have been seen of a rank.
  static constexpr double kSeenMin = 0.4;

  struct Communicator {
    uint64_t operations = 0;
    uint64_t without = 0;  // of these, without a duration
    bool is_exchange = false;
  };
  struct Rank {
    std::optional<uint64_t> newest;  // report
    SimTime newest_at;
    std::map<model::CommunicatorId, std::set<model::RankId>> peers;  // of receives, kPeersMin at most
    // Of the block.
    double seen_seconds = 0;
    double wait_seconds = 0;
    uint64_t messages = 0;
    uint64_t operations = 0;  // that messages were of, summed over connections
    std::set<model::ConnectionKey> connections;
  };

  void CountOperations(Rank& rank, const model::RankReport& report);
  void AddArrivals(Rank& rank, const model::RankReport& report) const;
  static double OwnSeconds(const Rank& rank);

  const model::JobLayout& layout_;
  std::vector<Communicator> communicators_;                                       // [communicator]
  std::vector<Rank> ranks_;                                                       // [rank]
  std::map<std::pair<model::CommunicatorId, model::RankId>, uint64_t> received_;  // scratch: operations of a report
  std::optional<SimTime> begin_;                                                  // of the block
  uint64_t block_ = 0;
};

}  // namespace fairlead::diagnosis::c4d
