// Which of many hosts has a bad NIC, link or network stack: rounds of pairs, each with another partner.
//
//     round 1   neighbours          (h0 h1) (h2 h3) (h4 h5 h6)     the odd one joins the last pair
//     round 2   fastest, slowest    (h0 h5) (h3 h2) (h6 h4 h1)
//     round 3   only those that are bad in both rounds with partners that are, too: with hosts that are well
//
// The first two rounds stay within regions, below one leaf where three or more of its hosts are checked.
//
// Problem     a transfer that is slow accuses two hosts and the path between them.
// Method      each host is measured with two others at least, one direction at a time, all NICs of a pair at once, and
//             no two pairs through the same cable of the fabric at once (pair_schedule.h). A transfer is bad if it
//             failed, if it is slower than a share of what is usual over its distance, or if it loses much more. What
//             is usual is the median over hosts of what each can do with its best partner, in the better direction:
//             with the median of all transfers a third of bad hosts would pass for normal. A host has failed if one
//             direction of one of its NICs is bad with each of its partners, one of which is well with another host;
//             what is bad with one partner only is the partner's, or the path's.
// Guarantees  no host is in two groups at once. A host whose agent is silent never fails, nor does one that had a
//             single partner, nor one that is slow over distances that nothing was measured over without it. While
//             fewer than half of the hosts of each region are bad no other one fails: tested exhaustively for up to 9
//             hosts of one leaf, and with random fabrics. A bad host may pass that met another one, also bad, that is
//             alone below its leaf.
// Cost        O(hosts x NICs x log) for each round.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 7.4. DLRover's network check.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "node_check/pair_schedule.h"
#include "node_check/transfer_plan.h"

namespace fairlead::node_check {

struct PairRoundOptions {
  // Below this share of the median of its like a transfer is slow. 0: no rate
  // is. Nearer to 1: milder faults are found,
  // and neighbours' traffic is called a fault more often.
  double slow_below = 0.9;
  // A transfer loses too much above this share, 0..1, if that is also `lossy_ratio` times the median of its like.
  double lossy_above = 0.01;
  double lossy_ratio = 5;
};

// What is wrong with a transfer.
enum class TransferFault : uint8_t { kNone, kFailed, kSlow, kLossy };

// "none", "failed", "slow", "lossy".
std::string_view Name(TransferFault fault);

struct HostVerdict {
  enum class Kind : uint8_t {
    kPassed,
    kFailed,
    kUndecided,  // bad with its only partner, with each in another way, with others that are bad, or no results
  };

  Kind kind = Kind::kUndecided;
  uint32_t num_partners = 0;  // that it was measured with
  // The direction of a NIC that it failed for, or the worst one where it passed, with its best partner.
  uint32_t nic = 0;
  bool sends = false;  // else it receives
  TransferFault fault = TransferFault::kNone;
  double rate_share = 0;  // of what is usual
  double lost_share = 0;
  // With whom a transfer was bad though it has not failed, ascending.
  std::vector<uint32_t> bad_with = {};

  friend bool operator==(const HostVerdict&, const HostVerdict&) = default;
};

// "passed", "failed", "undecided".
std::string_view Name(HostVerdict::Kind kind);

class PairRounds final : public TransferPlan {
 public:
  // Args: hosts: 2 or more, those of one leaf together if neighbours are to be near each other; with NICs.
  PairRounds(std::vector<CheckedHost> hosts, const PairRoundOptions& options);

  std::span<const Transfer> step() const override { return step_; }
  void Finish(std::span<const TransferResult> results) override;
  size_t num_steps() const override { return num_steps_; }
  size_t num_finished_steps() const override { return num_finished_; }

  // [host] by what is measured so far.
  std::vector<HostVerdict> Verdicts() const;
  // Median over hosts, near and far alike, bytes/s; 0: nothing was measured.
  double usual_rate() const;

 private:
  struct Side {
    uint32_t nic = 0;
    bool sends = false;

    friend auto operator<=>(const Side&, const Side&) = default;
  };
  // Of one direction of one NIC with one partner: the best of its measurements.
  struct Sight {
    Distance distance = Distance::kLeaf;
    bool has_failed = false;
    double rate = 0;
    double lost_share = 0;
  };
  using Sights = std::map<uint32_t, Sight>;  // [partner]
  // Three hosts or more that were measured over one distance.
  struct Likes {
    std::optional<uint32_t> centre = {};  // all of them with this one: nothing is known without it
  };
  struct Usual {
    double rate = 0;
    double lost_share = 0;
    std::optional<Likes> likes = {};  // nothing: of any distance, for want of others
  };
  using UsualOfDistances = std::array<Usual, kNumDistances>;

  void BeginRound(std::span<const HostGroup> groups);
  void BeginNextRound();
  void PlanStep();
  std::vector<HostGroup> FirstRound() const;
  std::vector<HostGroup> SecondRound() const;
  std::vector<HostGroup> ThirdRound() const;
  // Of a region.
  std::vector<HostGroup> PairFastWithSlow(HostGroup hosts, std::span<const double> shares) const;
  // [host] of what is usual, in its worst direction with its best partner.
  std::vector<double> WorstShares() const;
  void Note(uint32_t host, uint32_t partner, Side side, const Sight& sight);
  // Over one distance; nothing: over all. Without suspects. The better one of the two directions: a host that is bad
  // in one lowers its partner's other one.
  Usual UsualOf(std::optional<Distance> distance, const std::vector<bool>& suspects) const;
  Usual UsualOf(bool sends, std::optional<Distance> distance, const std::vector<bool>& suspects) const;
  std::optional<Likes> FindLikes(Distance distance, const std::vector<bool>& suspects) const;
  // One direction of a NIC with each partner over this distance, of which there are two or more.
  bool IsBadOver(Distance distance, uint32_t host, const UsualOfDistances& usual) const;
  // From the smallest distance on: what is bad over it doesn't count for what is usual over a greater one.
  UsualOfDistances UsualOfAll() const;
  static const Usual& LikeOf(const Sight& sight, const UsualOfDistances& usual) {
    return usual[static_cast<size_t>(sight.distance)];
  }
  static double ShareOf(const Sight& sight, const UsualOfDistances& usual);
  TransferFault FaultOf(const Sight& sight, const UsualOfDistances& usual) const;
  // Bad, and not only by comparison with what is not its like.
  bool IsSure(uint32_t host, const Sight& sight, const UsualOfDistances& usual) const;
  // With one partner, over all sides.
  bool IsBadWith(uint32_t host, uint32_t partner, const UsualOfDistances& usual, bool surely) const;
  std::set<uint32_t> PartnersOf(uint32_t host) const;
  // [host] whether it has a partner with whom nothing was bad.
  std::vector<bool> AreWell(const UsualOfDistances& usual) const;
  // Bad with each partner, of whom none is well.
  bool IsAmongTheBad(uint32_t host, const std::vector<bool>& are_well) const;
  HostVerdict VerdictOf(uint32_t host, const UsualOfDistances& usual, const std::vector<bool>& are_well) const;

  std::vector<CheckedHost> hosts_;
  PairRoundOptions options_;
  std::vector<HostGroup> regions_;
  uint32_t round_ = 0;
  std::vector<std::vector<HostTransfer>> steps_;  // of the round
  size_t step_of_round_ = 0;
  size_t num_steps_ = 0;
  size_t num_finished_ = 0;
  std::vector<Transfer> step_;
  std::vector<std::map<Side, Sights>> seen_;  // [host]
};

}  // namespace fairlead::node_check
