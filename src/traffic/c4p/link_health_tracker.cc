#include "traffic/c4p/link_health_tracker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace fairlead::traffic::c4p {
namespace {

double LossOf(const LinkObservation& seen) { return static_cast<double>(seen.lost) / static_cast<double>(seen.sent); }

void AddTo(LinkObservation* sum, const LinkObservation& more) {
  sum->sent += more.sent;
  sum->lost += more.lost;
  if (IsMeasured(more.rtt) && (!IsMeasured(sum->rtt) || more.rtt < sum->rtt)) sum->rtt = more.rtt;
}

std::string Describe(const LinkObservation& seen, double z, bool is_scored, const RttBaseline& baseline) {
  std::string text = fmt::format("loss {:.3g} % ({} of {} packets)", 100 * LossOf(seen), seen.lost, seen.sent);
  if (is_scored) {
    text += fmt::format(", RTT {:.4g} us (z {:.1f} against a median of {:.4g} us)", seen.rtt.value() * 1e6, z,
                        baseline.Median().value() * 1e6);
  }
  return text;
}

Status Expect(bool ok, std::string_view option, std::string_view range, double found) {
  return ok ? OkStatus() : InvalidArgument(fmt::format("c4p: {}: expected {}, found {}", option, range, found));
}

}  // namespace

Status LinkHealthOptions::Validate() const {
  FL_RETURN_IF_ERROR(Expect(bad_loss > 0 && bad_loss <= 1, "bad_loss", "a fraction in (0, 1]", bad_loss));
  FL_RETURN_IF_ERROR(
      Expect(clean_loss > 0 && clean_loss <= bad_loss, "clean_loss", "a fraction in (0, bad_loss]", clean_loss));
  FL_RETURN_IF_ERROR(
      Expect(dead_loss >= bad_loss && dead_loss <= 1, "dead_loss", "a fraction in [bad_loss, 1]", dead_loss));
  FL_RETURN_IF_ERROR(Expect(bad_rtt_z > 0, "bad_rtt_z", "> 0", bad_rtt_z));
  FL_RETURN_IF_ERROR(Expect(min_rtt_excess.value() >= 0, "min_rtt_excess", ">= 0 s", min_rtt_excess.value()));
  FL_RETURN_IF_ERROR(Expect(max_rtt_outliers >= 0 && max_rtt_outliers <= 1, "max_rtt_outliers", "a fraction in [0, 1]",
                            max_rtt_outliers));
  FL_RETURN_IF_ERROR(Expect(window_rounds >= 1 && window_rounds <= 32, "window_rounds", "1 to 32", window_rounds));
  FL_RETURN_IF_ERROR(
      Expect(bad_rounds >= 1 && bad_rounds <= window_rounds, "bad_rounds", "1 to window_rounds", bad_rounds));
  FL_RETURN_IF_ERROR(Expect(clean_rounds >= 1 && clean_rounds <= 65535, "clean_rounds", "1 to 65535", clean_rounds));
  FL_RETURN_IF_ERROR(Expect(min_packets >= 1, "min_packets", ">= 1", min_packets));
  FL_RETURN_IF_ERROR(Expect(max_doublings <= 16, "max_doublings", "0 to 16", max_doublings));
  return Expect(forget_rounds >= 1, "forget_rounds", ">= 1", forget_rounds);
}

LinkHealthTracker::LinkHealthTracker(size_t num_links, LinkHealthOptions options)
    : options_(options), links_(num_links), now_(std::numeric_limits<int64_t>::min()) {
  FL_CHECK(options.Validate().ok());
}

Result<std::vector<LinkChange>> LinkHealthTracker::ObserveRound(SimTime now,
                                                                std::span<const LinkObservation> observations) {
  FL_RETURN_IF_ERROR(AdvanceClock(now));
  std::vector<Scored> round = Combine(observations);
  if (!ScoreRtts(&round)) ++num_slow_rounds_;
  std::vector<LinkChange> changes;
  for (const Scored& scored : round) {
    const LinkId id = scored.observation.link;
    Link& link = links_[id];
    const Verdict verdict = Judge(link, scored);
    Count(verdict, scored.observation.sent, &link);
    const LinkState next = NextState(link, verdict);
    if (next != link.state) changes.push_back(Change(id, next, Explain(id, next, scored)));
    if (verdict == Verdict::kClean && IsMeasured(scored.observation.rtt)) link.baseline.Add(scored.observation.rtt);
  }
  return changes;
}

Result<std::vector<LinkChange>> LinkHealthTracker::ReportDown(SimTime now, LinkId id, std::string_view source) {
  FL_RETURN_IF_ERROR(CheckLink(id));
  FL_RETURN_IF_ERROR(AdvanceClock(now));
  links_[id].held_down = true;
  std::vector<LinkChange> changes;
  if (state(id) != LinkState::kDown) {
    changes.push_back(Change(id, LinkState::kDown, fmt::format("reported down by {}", source)));
  }
  return changes;
}

Result<std::vector<LinkChange>> LinkHealthTracker::ReportUp(SimTime now, LinkId id, std::string_view source) {
  FL_RETURN_IF_ERROR(CheckLink(id));
  FL_RETURN_IF_ERROR(AdvanceClock(now));
  links_[id].held_down = false;
  std::vector<LinkChange> changes;
  if (state(id) == LinkState::kDown) {
    links_[id].baseline = RttBaseline();
    changes.push_back(Change(id, LinkState::kProbation, fmt::format("reported up by {}", source)));
  }
  return changes;
}

uint32_t LinkHealthTracker::CleanRoundsNeeded(const Link& link) const {
  const uint32_t doublings = link.relapses == 0 ? 0 : link.relapses - 1;
  return options_.clean_rounds << std::min(doublings, options_.max_doublings);
}

// In the window, since the last transition.
uint32_t LinkHealthTracker::NumBadRounds(const Link& link) const {
  const uint32_t window = ~uint32_t{0} >> (32 - options_.window_rounds);
  return static_cast<uint32_t>(std::popcount(link.bad_history & window));
}

Status LinkHealthTracker::AdvanceClock(SimTime now) {
  if (now < now_) {
    return InvalidArgument(
        fmt::format("c4p: link health: time went back from {} ns to {} ns; hand rounds and reports over in their order",
                    now_.ns(), now.ns()));
  }
  now_ = now;
  return OkStatus();
}

Status LinkHealthTracker::CheckLink(LinkId id) const {
  if (id.index() < links_.size()) return OkStatus();
  return InvalidArgument(
      fmt::format("c4p: link health: no link {}; the fabric has {} links", id.value(), links_.size()));
}

// One entry per known link with packets, ascending by link.
std::vector<LinkHealthTracker::Scored> LinkHealthTracker::Combine(std::span<const LinkObservation> observations) {
  std::vector<LinkObservation> sorted;
  for (const LinkObservation& seen : observations) {
    const bool valid = seen.link.index() < links_.size() && seen.lost <= seen.sent;
    if (!valid) ++num_ignored_observations_;
    if (valid && seen.sent > 0) sorted.push_back(seen);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LinkObservation& a, const LinkObservation& b) { return a.link < b.link; });
  std::vector<Scored> round;
  for (const LinkObservation& seen : sorted) {
    if (round.empty() || round.back().observation.link != seen.link) {
      round.emplace_back().observation = seen;
    } else {
      AddTo(&round.back().observation, seen);
    }
  }
  return round;
}

// Returns false, and takes the scores back, when too many links are slow at once.
bool LinkHealthTracker::ScoreRtts(std::vector<Scored>* round) const {
  size_t num_scored = 0;
  size_t num_outliers = 0;
  for (Scored& scored : *round) {
    if (!IsMeasured(scored.observation.rtt)) continue;
    const RttBaseline& baseline = links_[scored.observation.link].baseline;
    const std::optional<double> z = baseline.Score(scored.observation.rtt);
    scored.is_scored = z.has_value();
    const bool matters = scored.observation.rtt - baseline.Median() > options_.min_rtt_excess;
    scored.z = matters ? z.value_or(0) : std::min(z.value_or(0), 0.0);
    num_scored += scored.is_scored ? 1 : 0;
    num_outliers += scored.z >= options_.bad_rtt_z ? 1 : 0;
  }
  if (num_outliers <= 1 ||
      static_cast<double>(num_outliers) <= options_.max_rtt_outliers * static_cast<double>(num_scored)) {
    return true;
  }
  for (Scored& scored : *round) {
    scored.is_scored = false;
    scored.z = 0;
    scored.observation.rtt = Seconds(0);  // nor is it to become part of a baseline
  }
  return false;
}

LinkHealthTracker::Verdict LinkHealthTracker::Judge(const Link& link, const Scored& scored) const {
  const LinkObservation& seen = scored.observation;
  const double loss = LossOf(seen);
  const bool loses = loss >= options_.bad_loss && (seen.lost >= 2 || seen.lost == seen.sent);
  if (loses && loss >= options_.dead_loss) return Verdict::kDead;
  if (loses || scored.z >= options_.bad_rtt_z) return Verdict::kBad;
  if (loss >= options_.clean_loss) return Verdict::kUnclear;
  return seen.sent + link.thin_packets >= options_.min_packets ? Verdict::kClean : Verdict::kThin;
}

void LinkHealthTracker::Count(Verdict verdict, uint64_t num_packets, Link* link) const {
  const bool bad = verdict == Verdict::kBad || verdict == Verdict::kDead;
  link->bad_history = link->bad_history << 1 | (bad ? 1u : 0u);
  if (verdict == Verdict::kThin) {
    link->thin_packets += static_cast<uint32_t>(num_packets);
    return;
  }
  link->thin_packets = 0;
  link->clean_streak = verdict == Verdict::kClean ? link->clean_streak + 1 : 0;
  if (link->state == LinkState::kUp && link->clean_streak >= options_.forget_rounds) link->relapses = 0;
}

LinkState LinkHealthTracker::NextState(const Link& link, Verdict verdict) const {
  const uint32_t strikes = NumBadRounds(link) + (verdict == Verdict::kDead ? 1 : 0);
  const bool failed = strikes >= options_.bad_rounds;
  switch (link.state) {
    case LinkState::kUp:
      return failed ? LinkState::kSuspect : LinkState::kUp;
    case LinkState::kDown:
      return verdict == Verdict::kClean && !link.held_down ? LinkState::kProbation : LinkState::kDown;
    case LinkState::kSuspect:
      if (failed) return LinkState::kDown;
      break;
    case LinkState::kProbation:
      if (strikes > 0) return LinkState::kDown;
      break;
  }
  return link.clean_streak >= CleanRoundsNeeded(link) ? LinkState::kUp : link.state;
}

// Makes the transition.
LinkChange LinkHealthTracker::Change(LinkId id, LinkState to, std::string reason) {
  Link& link = links_[id];
  const bool relapsed = link.state == LinkState::kUp || (link.state == LinkState::kProbation && to == LinkState::kDown);
  if (relapsed && link.relapses <= options_.max_doublings) ++link.relapses;
  LinkChange change{.link = id, .from = link.state, .to = to, .at = now_, .reason = std::move(reason)};
  link.state = to;
  link.bad_history = 0;
  link.clean_streak = 0;
  return change;
}

std::string LinkHealthTracker::Explain(LinkId id, LinkState to, const Scored& scored) const {
  const Link& link = links_[id];
  std::string why;
  if (to == LinkState::kUp) {
    why = fmt::format("{} clean rounds in a row", link.clean_streak);
  } else if (to == LinkState::kProbation) {
    why = fmt::format("a clean round, {} more to be up", CleanRoundsNeeded(link));
  } else if (link.state == LinkState::kProbation) {
    why = "a bad round in probation";
  } else {
    why = fmt::format("{} bad of the last {} rounds", NumBadRounds(link), options_.window_rounds);
  }
  return fmt::format("{}; now {}", why, Describe(scored.observation, scored.z, scored.is_scored, link.baseline));
}

}  // namespace fairlead::traffic::c4p
