// Link health: which links may carry paths, judged from rounds of probes and from what switches and operators say.
//
//          bad rounds             bad rounds          clean round              clean rounds
//     up -------------> suspect --------------> down -------------> probation --------------> up
//                         |  clean rounds -> up  ^                     |
//                         +----------------------|---------------------+ one bad round
//     ReportDown: from everywhere to down, and only ReportUp leads out of it, to probation.
//
// Problem     losses and delays of a round are noisy. A sick link must go soon; a link with losses around the limit
//             must not come and go, since every change moves flows.
// Method      a round is  bad    loss >= bad_loss, by two packets or by all of them, or RTT z >= bad_rtt_z
//                         dead   loss >= dead_loss; counts as two bad rounds
//                         clean  loss < clean_loss and no RTT outlier
//                         thin    as clean, but of few packets: the round in which they are enough together is clean
//                         unclear otherwise; neither bad nor clean
//             `bad_rounds` of the last `window_rounds` since the last transition go one step down. `clean_rounds` in a
//             row lead back to up, twice as many for each time that the link left up or failed its probation before
//             (BGP's route flap damping, RFC 2439, in rounds), until it stayed up and clean for `forget_rounds`.
//             RTT is scored against the link's own clean rounds (rtt_baseline.h). Where more than `max_rtt_outliers` of
//             the links are slow at once, the fabric is loaded or the probers are slow: RTT says nothing in this round.
// Cost        a round: O(n log n + n * RttBaseline::kCapacity), n observations. About 170 bytes a link.
// Guarantees  without forgetting, the i-th return to up takes clean_rounds * 2^min(i - 1, max_doublings) clean rounds
//             in a row, whatever the losses. The order of the observations of a round is no matter. Rounds without news
//             of a link leave it as it is.
// Differs     the spec (9.2) gives loss, z, 2 of 3 and 3 rounds; clean_loss, dead_loss, damping, and what happens in
//             between are ours.
// Limits      a lasting rise of the RTT keeps a link out until ReportUp, which forgets its past. RTTs over differing
//             numbers of hops widen the baseline; probe with alike paths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "traffic/c4p/loss_attribution.h"
#include "traffic/c4p/rtt_baseline.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

// Which links a new path may cross.
enum class LinkUse : uint8_t {
  kFirstChoice,
  kLastResort,  // only where no path over first choices is left
  kNever,
};

constexpr LinkUse UseOf(LinkState state) {
  if (state == LinkState::kUp) return LinkUse::kFirstChoice;
  return state == LinkState::kDown ? LinkUse::kNever : LinkUse::kLastResort;
}
// May carry new paths at all.
constexpr bool IsUsable(LinkState state) { return UseOf(state) != LinkUse::kNever; }

struct LinkHealthOptions {
  double bad_loss = 0.01;     // fraction of packets, in (0, 1]. Smaller: finer faults, more false alarms.
  double clean_loss = 0.005;  // in (0, bad_loss]. Smaller: links come back later, and flap less.
  double dead_loss = 0.5;     // in [bad_loss, 1]. Smaller: heavy losses act a round sooner.
  double bad_rtt_z = 5;       // > 0. Smaller: finer delays, more false alarms.
  // >= 0: a delay of no more than this over the link's median is no matter, however unusual. Larger: probes that hosts
  // and queues hold up make no link look sick, and sick links must be slower.
  Seconds min_rtt_excess = Seconds(0);
  // Share of the links with a baseline, in [0, 1]; one link may always be slow. Larger: a loaded fabric looks sick.
  double max_rtt_outliers = 0.25;
  uint32_t bad_rounds = 2;     // in [1, window_rounds]. More: fewer false alarms, later true ones.
  uint32_t window_rounds = 3;  // in [1, 32]. More: faults that come and go are caught.
  uint32_t clean_rounds = 3;   // >= 1. More: later back.
  // >= 1: a clean round has this many or more; thinner ones without loss count together. More: thin rounds prove less.
  uint32_t min_packets = 10;
  uint32_t max_doublings = 5;    // of clean_rounds, at most 16. More: flapping links stay out longer.
  uint32_t forget_rounds = 100;  // >= 1. More: old sins count longer.

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

struct LinkChange {
  LinkId link;
  LinkState from = LinkState::kUp;
  LinkState to = LinkState::kUp;
  SimTime at;
  std::string reason;  // with the numbers: "2 bad rounds of the last 3; now loss 2 % (20 of 1000 packets), …"
};

class LinkHealthTracker {
 public:
  // All links up. Args: options valid.
  LinkHealthTracker(size_t num_links, LinkHealthOptions options);

  // One round of probes at `now`. Several observations of a link are added up (RTT: the least); one without packets is
  // no news; one of an unknown link, or with more lost than sent, is ignored and counted.
  // Returns  what changed, ascending by link.
  // Errors   kInvalidArgument when time went back; nothing changes then.
  Result<std::vector<LinkChange>> ObserveRound(SimTime now, std::span<const LinkObservation> observations);

  // The direct report of a switch or an operator, named by `source` in the reason. Down holds whatever probes say; up
  // ends that and opens the probation of a link that is down.
  // Returns  the change, or nothing when the link is so already.
  // Errors   kInvalidArgument for an unknown link, or when time went back.
  Result<std::vector<LinkChange>> ReportDown(SimTime now, LinkId id, std::string_view source);
  Result<std::vector<LinkChange>> ReportUp(SimTime now, LinkId id, std::string_view source);

  size_t num_links() const { return links_.size(); }
  LinkState state(LinkId link) const { return links_[link].state; }
  // Clean rounds in a row that the link would need now to be up again.
  uint32_t CleanRoundsNeeded(LinkId link) const { return CleanRoundsNeeded(links_[link]); }
  uint64_t num_ignored_observations() const { return num_ignored_observations_; }
  // Rounds in which so many links were slow that RTTs were not counted.
  uint64_t num_slow_rounds() const { return num_slow_rounds_; }

 private:
  enum class Verdict : uint8_t { kClean, kThin, kUnclear, kBad, kDead };

  struct Link {
    LinkState state = LinkState::kUp;
    bool held_down = false;     // by a direct report
    uint8_t relapses = 0;       // times it left up or failed its probation, until forgotten
    uint32_t bad_history = 0;   // bit i: bad i rounds ago; since the last transition
    uint32_t clean_streak = 0;  // since the last transition
    uint32_t thin_packets = 0;  // of thin rounds in a row
    RttBaseline baseline;
  };

  // An observation, and how unusual its RTT is.
  struct Scored {
    LinkObservation observation;
    double z = 0;
    bool is_scored = false;
  };

  uint32_t CleanRoundsNeeded(const Link& link) const;
  uint32_t NumBadRounds(const Link& link) const;
  Status AdvanceClock(SimTime now);
  Status CheckLink(LinkId id) const;
  std::vector<Scored> Combine(std::span<const LinkObservation> observations);
  bool ScoreRtts(std::vector<Scored>* round) const;
  Verdict Judge(const Link& link, const Scored& scored) const;
  void Count(Verdict verdict, uint64_t num_packets, Link* link) const;
  LinkState NextState(const Link& link, Verdict verdict) const;
  LinkChange Change(LinkId id, LinkState to, std::string reason);
  std::string Explain(LinkId id, LinkState to, const Scored& scored) const;

  LinkHealthOptions options_;
  IdVector<LinkId, Link> links_;
  SimTime now_;
  uint64_t num_ignored_observations_ = 0;
  uint64_t num_slow_rounds_ = 0;
};

}  // namespace fairlead::traffic::c4p
