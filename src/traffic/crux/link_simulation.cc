#include "traffic/crux/link_simulation.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace fairlead::traffic::crux {
namespace {

// What rounding leaves of a finished block, relative to the job's iteration.
constexpr double kRoundingResidue = 1e-12;

// Takes `amount` off, and snaps to zero what is only rounding.
void Consume(Seconds* left, Seconds amount, Seconds residue) {
  *left -= amount;
  if (*left <= residue) *left = Seconds(0);
}

}  // namespace

LinkSimulation::LinkSimulation(std::span<const LinkJob> jobs) {
  states_.reserve(jobs.size());
  for (const LinkJob& job : jobs) {
    FL_CHECK(job.link_time.value() > 0 && job.compute_time.value() >= 0);
    FL_CHECK(job.link_time.value() < std::numeric_limits<double>::infinity());
    State state;
    state.job = job;
    state.until_start = std::max(Seconds(0), (job.start_fraction - job.initial_phase) * job.compute_time);
    state.compute_left = (1 - job.initial_phase) * job.compute_time;
    state.link_left = job.link_time;
    states_.push_back(state);
  }
}

void LinkSimulation::FindServedLevel() {
  served_level_ = std::numeric_limits<uint32_t>::max();
  num_served_ = 0;
  for (const State& state : states_) {
    if (!state.communicating() || state.job.level > served_level_) continue;
    if (state.job.level < served_level_) num_served_ = 0;
    served_level_ = state.job.level;
    ++num_served_;
  }
}

double LinkSimulation::ShareOf(const State& state) const {
  return state.communicating() && state.job.level == served_level_ ? 1.0 / num_served_ : 0.0;
}

Seconds LinkSimulation::TimeToNextEvent() const {
  Seconds step(std::numeric_limits<double>::infinity());
  for (const State& state : states_) {
    if (state.until_start.value() > 0) {
      step = std::min(step, state.until_start);
    } else if (state.computing()) {
      step = std::min(step, state.compute_left);
    }
    const double share = ShareOf(state);
    if (share > 0) step = std::min(step, state.link_left / share);
  }
  return step;
}

void LinkSimulation::AdvanceJob(State* state, Seconds step, double share) {
  const Seconds residue = kRoundingResidue * (state->job.compute_time + state->job.link_time);
  if (state->computing()) {
    state->usage.compute += step;
    Consume(&state->until_start, step, residue);
    Consume(&state->compute_left, step, residue);
  }
  if (share > 0) {
    state->usage.link += share * step;
    Consume(&state->link_left, share * step, residue);
  }
  if (state->computing() || state->link_left.value() > 0) return;
  ++state->usage.iterations;
  state->until_start = state->job.start_fraction * state->job.compute_time;
  state->compute_left = state->job.compute_time;
  state->link_left = state->job.link_time;
}

bool LinkSimulation::Step(Seconds horizon) {
  if (now_ >= horizon) return false;
  FindServedLevel();
  const Seconds until_event = TimeToNextEvent();
  const bool ends = now_ + until_event >= horizon;
  const Seconds step = ends ? horizon - now_ : until_event;
  for (State& state : states_) AdvanceJob(&state, step, ShareOf(state));
  now_ = ends ? horizon : now_ + step;
  return true;
}

void LinkSimulation::RunUntil(Seconds horizon) {
  while (Step(horizon)) {
  }
}

}  // namespace fairlead::traffic::crux
