#include "lab/trainer/iteration_state.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::lab {

namespace {

// Instants are sums of doubles; what is this near has been reached.
constexpr double kSlack = 1e-9;

// The first `parts` of `of_parts` equal parts of some bytes; a remainder is spread.
uint64_t BytesOfParts(uint64_t bytes, uint64_t parts, uint64_t of_parts) {
  return parts >= of_parts ? bytes : bytes / of_parts * parts + bytes % of_parts * parts / of_parts;
}

}  // namespace

IterationState::IterationState(const TrainerPlan& plan, double now_s)
    : plan_(&plan), begin_s_(now_s), last_s_(now_s), connections_(plan.connections.size()) {
  Advance(now_s);
}

double IterationState::ClockLimit() const {
  for (size_t p = phase_; p < plan_->phases.size(); ++p) {
    if (plan_->phases[p].blocks_compute) return plan_->phases[p].start_fraction * plan_->compute_s;
  }
  return plan_->compute_s;
}

void IterationState::Advance(double now_s) {
  FL_CHECK(now_s >= last_s_);
  clock_s_ = std::max(clock_s_, std::min(clock_s_ + (now_s - last_s_), ClockLimit()));
  last_s_ = now_s;
  while (phase_ < plan_->phases.size()) {
    if (!phase_runs_) {
      if (clock_s_ + kSlack < plan_->phases[phase_].start_fraction * plan_->compute_s) return;
      BeginPhase(now_s);
    }
    if (!PhaseIsOver(now_s)) return;
    phase_runs_ = false;
    ++phase_;
  }
  is_over_ = clock_s_ + kSlack >= plan_->compute_s;
}

std::optional<double> IterationState::next_instant_s() const {
  std::optional<double> next;
  const auto add = [&](double at_s) { next = next ? std::min(*next, at_s) : at_s; };
  if (phase_runs_ && phase_local_end_s_ > last_s_ + kSlack) add(phase_local_end_s_);
  const double limit = ClockLimit();
  if (clock_s_ + kSlack < limit) {
    // While a phase runs the clock is of interest only where it ends the iteration's compute.
    double target = limit;
    if (!phase_runs_ && phase_ < plan_->phases.size()) {
      target = std::min(limit, plan_->phases[phase_].start_fraction * plan_->compute_s);
    }
    add(last_s_ + std::max(0.0, target - clock_s_));
  }
  return next;
}

void IterationState::BeginPhase(double now_s) {
  const PhasePlan& phase = plan_->phases[phase_];
  phase_runs_ = true;
  phase_local_end_s_ = now_s + phase.local_s;
  for (ConnectionState& connection : connections_) connection = ConnectionState();
  for (const StreamPlan& stream : phase.streams) {
    for (const TransferPlan& transfer : stream.receives) {
      connections_[transfer.connection] = {.total = transfer.bytes, .allowed = transfer.bytes, .done = 0};
    }
    for (const TransferPlan& transfer : stream.sends) connections_[transfer.connection].total = transfer.bytes;
    AllowParts(stream);
  }
}

bool IterationState::PhaseIsOver(double now_s) const {
  if (now_s + kSlack < phase_local_end_s_) return false;
  return std::all_of(connections_.begin(), connections_.end(),
                     [](const ConnectionState& connection) { return connection.done == connection.total; });
}

void IterationState::AllowParts(const StreamPlan& stream) {
  // Whole parts that have come in over all queue pairs.
  uint64_t parts = stream.parts;
  for (const TransferPlan& transfer : stream.receives) {
    const uint64_t received = connections_[transfer.connection].done;
    uint64_t whole = 0;
    while (whole < parts && BytesOfParts(transfer.bytes, whole + 1, stream.parts) <= received) ++whole;
    parts = std::min(parts, whole);
  }
  const uint64_t allowed = parts + stream.lead;
  for (const TransferPlan& transfer : stream.sends) {
    ConnectionState& connection = connections_[transfer.connection];
    connection.allowed = std::max(connection.allowed, BytesOfParts(transfer.bytes, allowed, stream.parts));
  }
}

void IterationState::OnSent(uint32_t connection, uint64_t bytes) {
  FL_CHECK(bytes <= sendable(connection));
  connections_[connection].done += bytes;
}

void IterationState::OnReceived(uint32_t connection, uint64_t bytes) {
  FL_CHECK(bytes <= expected(connection));
  connections_[connection].done += bytes;
  for (const StreamPlan& stream : plan_->phases[phase_].streams) {
    if (stream.lead < stream.parts) AllowParts(stream);
  }
}

}  // namespace fairlead::lab
