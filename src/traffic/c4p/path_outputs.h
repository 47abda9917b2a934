// What one call of the C4P master comes to: its answers and actions, gathered from all of its components.
//
// Problem     a queue pair may be given another path, and then another port, several times in a call, by rules that do
//             not know one another. Its holder should be told once, what holds in the end.
// Method      of a move only the queue pair and the cause are noted; its answer is made when the call ends. Orders to
//             probe wait until then, too: one message for each host.
// Guarantees  Take() gives what was added, then what was added to come after it, each in order; then moves, then scans,
//             each by host. A queue pair is in it once at most, and not after Withdraw(). The first cause counts, but
//             one that changed the path before one that did not. What was taken does not come again.
// Cost        Notify and Withdraw O(log moves); Take O(moves log hosts + scans).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "traffic/c4p/c4p_counters.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

class PathOutputs {
 public:
  // Counts rejections, moves and ports asked for. `counters` must outlive this.
  explicit PathOutputs(C4pCounters* counters) : counters_(counters) {}

  // Answers, questions, changes of links: in the order of their making.
  void Add(PathAction action) { actions_.push_back(std::move(action)); }
  void Reject(std::string reason);
  // What comes after all of these: ended leases, the round of probes that begins.
  void AddAfter(PathAction action) { after_.push_back(std::move(action)); }

  // The queue pair's answer has changed. Args: ref: held.
  void Notify(QueuePairRef ref, MoveCause cause);
  // It has ended.
  void Withdraw(QueuePairRef ref) { moves_.erase(ref); }
  void Scan(HostId host, PortScan scan) { scans_[host].push_back(std::move(scan)); }

  // All since the last call. Args: answer_of: what a queue pair has now.
  std::vector<PathAction> Take(const ConnectionTable& connections,
                               const std::function<QueuePairAnswer(QueuePairRef)>& answer_of);

 private:
  C4pCounters* counters_;
  std::vector<PathAction> actions_;
  std::vector<PathAction> after_;
  std::map<QueuePairRef, MoveCause> moves_;
  std::map<HostId, std::vector<PortScan>> scans_;
};

}  // namespace fairlead::traffic::c4p
