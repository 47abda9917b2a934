// What happens when several jobs share one link: an exact replay of compute and communication, event by event.
//
// Problem     the correction factor asks how much link time each job wins when it goes first; section 3.2 claims that
//             what the link carries and what the GPUs compute agree. Both need a simulation without approximation.
// Notation    C_j -> compute_time;  t_j -> link_time (alone on the link);  s_j -> start_fraction;  c: compute done
// Method      computing     <=>  c < C
//             communicating <=>  c >= s*C and the transmission is unfinished
//             The iteration ends when c = C and the transmission is over; the next begins at once. The link serves
//             the communicating jobs of the best level only, in equal shares (strict priority). Between two changes
//             of any of these conditions all rates are constant, so time jumps to the next change.
// Cost        O(jobs) per event, at most 4 events per job and iteration.
// Guarantees  exact up to rounding; |work computed - work released by the link| <= sum of W_j at every event, where
//             the part of an iteration that initial_phase says was computed before time 0 counts as computed.
// Reference   Cao et al., Crux, SIGCOMM 2024, sections 3.2 and 4.2, Figures 11 and 12; Theorem 1.
// Oracle      the closed form max(C, s*C + t) for one job; the tables of Figures 11 and 12 for two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace fairlead::traffic::crux {

struct LinkJob {
  Seconds compute_time;       // C >= 0
  Seconds link_time;          // t > 0, finite
  double start_fraction = 1;  // s in [0, 1]
  // Compute already done at time 0, as a fraction of C; nothing is sent yet. 1 = ready to send.
  double initial_phase = 0;
  uint32_t level = 0;  // 0 goes first; equal levels share the link equally
};

// What a job had so far.
struct LinkJobUsage {
  Seconds compute;
  Seconds link;  // transmission done, in seconds of the whole link
  uint64_t iterations = 0;
};

class LinkSimulation {
 public:
  explicit LinkSimulation(std::span<const LinkJob> jobs);

  Seconds now() const { return now_; }
  const LinkJobUsage& usage(size_t job) const { return states_[job].usage; }

  // Advances to the next event, but not past `horizon`. Returns false when now() has reached it.
  bool Step(Seconds horizon);
  void RunUntil(Seconds horizon);

 private:
  struct State {
    LinkJob job;
    // Compute left until communication may start, compute left, transmission left: of this iteration, in seconds.
    Seconds until_start, compute_left, link_left;
    LinkJobUsage usage;

    bool computing() const { return compute_left.value() > 0; }
    bool communicating() const { return until_start.value() <= 0 && link_left.value() > 0; }
  };

  // Fraction of the link that a communicating job gets: 1 / sharers in the best level, 0 in the others.
  double ShareOf(const State& state) const;
  void FindServedLevel();
  Seconds TimeToNextEvent() const;
  static void AdvanceJob(State* state, Seconds step, double share);

  std::vector<State> states_;
  Seconds now_;
  uint32_t served_level_ = 0;
  uint32_t num_served_ = 0;
};

}  // namespace fairlead::traffic::crux
