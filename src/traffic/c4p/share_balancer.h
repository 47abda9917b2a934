// Share balancer: how many of a connection's bytes each of its queue pairs (QPs) carries, so that the parts of a
// message end together although their paths are not equally fast.
//
// Problem     a message is cut into one part per QP and is over when its slowest part is. QPs are pinned to paths with
//             speeds that differ and change (a failed uplink, other jobs). Changing shares needs no reconnection.
// Notation    tau_q -> seconds per byte of QP q, a mean over bytes that halves in weight every half_life
//             s_q -> shares()[q];  f -> min_share, floor / number of QPs;  T_q -> the share that 1 / tau_q asks for
// Method      once a period  1. T proportional to 1 / tau, at least f  2. enough if max(s/T) / min(s/T) < stop_ratio
//             3. s += step * (T - s), step = damping, or less so that at most max_change of the bytes change QP.
// Cost        O(1) for a message; O(n^2) for Rebalance and SetPathUp in the worst case, O(n) as a rule; n QPs.
// Guarantees  shares sum to 1; f <= s_q where the path is up, 0 where it is down; a QP that never ended a message keeps
//             its share. On paths of fixed speeds T is fixed and the remaining distance to it shrinks by `step` a
//             period.
// Differs     s/T is s_q * tau_q up to a factor: the times of the parts. The spec compares the tau alone, which is the
//             same while shares are equal but would leave a path that came back on its floor forever. "At most 25 % per
//             period" is read as 25 % of the connection's bytes; of a QP's own share it would take a path 14 periods
//             (1.25^14 > 20) to come back from its floor.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 9.6: message completion time moves load between QPs,
//             by rules of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"

namespace fairlead::traffic::c4p {

struct ShareOptions {
  // After this time a message counts half. > 0 s. Longer: steadier shares, later answers to a change.
  Seconds half_life{1};
  // How much of the way to the wanted shares is gone in one period. In (0, 1]. Larger: faster, and less forgiving when
  // several connections answer to each other.
  double damping = 0.5;
  // Bytes of the connection that may change QP in one period. In (0, 1]. Smaller: gentler on links that take over.
  double max_change = 0.25;
  // Least share of a QP with its path up, in equal shares. In (0, 1). It keeps measurements coming from a slow path;
  // larger: they cost more.
  double floor = 0.05;
  // Shares stay where the longest part of a message takes less than this many times the shortest. >= 1. Larger: fewer
  // changes, and up to 1 - 1 / stop_ratio of the connection's speed left unused.
  double stop_ratio = 1.1;
  // Mean time between two calls of Rebalance, and how far a single one may differ, as a fraction in [0, 1). Without
  // jitter connections that started together move together.
  Seconds period{1};
  double jitter = 0.2;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// What a call of Rebalance came to.
enum class RebalanceOutcome {
  kMoved,     // shares() has changed
  kBalanced,  // the parts of a message end together, within stop_ratio
  kNoNews,    // no message has ended since the last call
  kAllDown,   // no path is up: shares stay as they were
};

// Thread: not safe; one object per connection.
class ShareBalancer {
 public:
  // Equal shares, all paths up. Args: num_qps >= 1; valid options; seed: differs between connections, decides
  // NextPeriod.
  ShareBalancer(size_t num_qps, uint64_t seed, const ShareOptions& options = {});

  // [QP] Fractions of the connection's bytes; they sum to 1.
  std::span<const double> shares() const { return shares_; }
  bool all_down() const;

  // A message has ended at `now`, of which `qp` carried `bytes` (> 0) in `took` (> 0). A `now` before the QP's last
  // message counts as that message's.
  void RecordPart(size_t qp, Bytes bytes, Seconds took, SimTime now);

  // The QP's path went down, or came back. Down: its share goes to the others at once, in proportion to theirs. Back:
  // it starts at the floor and is measured again. Saying the same twice changes nothing.
  void SetPathUp(size_t qp, bool up);

  // To be called every NextPeriod().
  RebalanceOutcome Rebalance();

  // Time until the next Rebalance: uniform in period * (1 -+ jitter). The only draw from the seed.
  Seconds NextPeriod();

 private:
  struct Path {
    bool up = true;
    // Sums over messages, each weighted by 2^-(age / half_life) as of `last`; 0 before the first message.
    double bytes = 0;
    double seconds = 0;
    SimTime last;
  };

  std::vector<double> WantedShares() const;
  void Normalize(std::vector<double>* weights) const;

  ShareOptions options_;
  double min_share_;
  std::vector<Path> paths_;     // [QP]
  std::vector<double> shares_;  // [QP]
  bool has_news_ = false;
  Random random_;
};

}  // namespace fairlead::traffic::c4p
