// Which sends and receives of a job are an exchange of all with all, and when did each rank reach it?
//
// Problem     programs send from all to all, such as tokens to experts, as single sends and receives. No rank gets
//             further before the last has arrived, as in a collective, but no record says that they belong together.
// Method      the k-th send to and the k-th receive from each other rank of a communicator are one exchange if on each
//             rank there was a moment at which all of them were under way. It is then reported as an all-to-all: a rank
//             arrives with its first operation and leaves with its last. Stages of a pipeline send what follows from
//             what they have received, so a later one never has both under way at once, and it is none.
// Cost        O(log ranks) a record. Memory: a number for each lane of sends or receives, and the reports of exchanges
//             that have not ended, kMaxOpen at most; nothing for communicators that are used for something else.
// Guarantees  a record that is repeated changes nothing. An exchange with a record that is lost, or overtaken by a
//             later one, is not reported.
// Differs     exchanges in which pairs without data are left out are not found: their numbers differ from pair to pair.
// Reference   docs/spec/c4.md section 6, steps 2 and 3, which are about collectives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/completed_operation.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class PairExchanges {
 public:
  // Args: layout, must outlive this.
  explicit PairExchanges(const model::JobLayout& layout);

  // Gets each exchange that the report completes.
  using Sink = std::function<void(const CompletedOperation&)>;
  void Add(const model::RankReport& report, const Sink& sink);

  // Whether any was found on the communicator, which must be of the layout.
  bool HasExchanges(model::CommunicatorId communicator) const {
    return communicators_[communicator.index()].has_exchanges;
  }

  // Of a communicator. Ranks of a job report within a second or two of each other.
  static constexpr size_t kMaxOpen = 256;

 private:
  // A communicator without exchanges is left alone after so many operations of equal number that were apart.
  static constexpr uint32_t kApartMax = 16;
  // A rank that has met some of the others so often would have met all of them in an exchange.
  static constexpr uint64_t kMeetings = 3;

  // Reports of a rank about its operations of one sequence.
  struct Member {
    uint32_t operations = 0;  // that have finished
    SimTime enqueued = SimTime::Never();
    SimTime first_started = SimTime::Never();
    SimTime last_started;
    SimTime first_finished = SimTime::Never();
    SimTime last_finished;
  };
  struct Rank {
    std::map<uint32_t, uint64_t> lanes;  // 2 * position of the peer + is receive; sequences below were reported
    std::map<uint64_t, Member> pending;  // by sequence
    uint64_t first = UINT64_MAX;         // sequence of all
    uint64_t latest = 0;
  };
  struct Open {
    std::vector<RankInstants> ranks;  // [member] invalid: has not reported all
    uint32_t num_reported = 0;
  };
  struct Communicator {
    std::map<model::RankId, uint32_t> positions;
    std::vector<Rank> ranks;        // [member]
    std::map<uint64_t, Open> open;  // by sequence
    uint32_t num_apart = 0;
    bool has_exchanges = false;
    bool is_none = false;  // used for something else
  };

  void Add(model::RankId rank, const model::OperationRecord& record, const Sink& sink);
  void AddMember(model::RankId rank, uint32_t position, const model::OperationRecord& record, const Sink& sink);
  static bool IsNew(Rank& rank, uint32_t peer, const model::OperationRecord& record);
  // Leaves communicators alone that are used for something else.
  void Sort(Communicator& communicator, model::RankId rank) const;

  const model::JobLayout& layout_;
  std::vector<Communicator> communicators_;     // [communicator]
  std::vector<model::CommunicatorId> touched_;  // scratch: of a report
};

}  // namespace fairlead::diagnosis::c4d
