// A tracker that is fed round by round, for its tests.
#pragma once

#include <vector>

#include "traffic/c4p/link_health_tracker.h"

namespace fairlead::traffic::c4p {

inline constexpr LinkId kLink(0);

inline LinkObservation Saw(LinkId link, uint64_t sent, uint64_t lost, double rtt_us = 0) {
  return {.link = link, .sent = sent, .lost = lost, .rtt = Seconds(rtt_us * 1e-6)};
}

// A tracker of few links that is fed round by round, a second each.
class Rounds {
 public:
  explicit Rounds(size_t num_links = 1, LinkHealthOptions options = {}) : tracker_(num_links, options) {}

  std::vector<LinkChange> Observe(std::vector<LinkObservation> seen) {
    return tracker_.ObserveRound(NextSecond(), seen).value();
  }
  // `lost` of 1000 packets on the first link, so often; returns its state then.
  LinkState Lose(uint64_t lost, int rounds = 1) {
    for (int i = 0; i < rounds; ++i) Observe({Saw(kLink, 1000, lost)});
    return state();
  }
  LinkState state(LinkId link = kLink) const { return tracker_.state(link); }
  LinkHealthTracker& tracker() { return tracker_; }
  SimTime NextSecond() { return now_ = now_ + SimDuration(1'000'000'000); }

 private:
  LinkHealthTracker tracker_;
  SimTime now_;
};

}  // namespace fairlead::traffic::c4p
