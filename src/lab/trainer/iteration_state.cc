#include "lab/trainer/iteration_state.h"

#include <algorithm>

#include "base/check.h"
#include "lab/trainer/chunk.h"

namespace fairlead::lab {

namespace {

// Instants are sums of doubles; what is this near has been reached.
constexpr double kSlack = 1e-9;

}  // namespace

uint64_t BytesOfParts(uint64_t bytes, uint64_t parts, uint64_t of_parts) {
  return parts >= of_parts ? bytes : bytes / of_parts * parts + bytes % of_parts * parts / of_parts;
}

IterationState::IterationState(const TrainerPlan& plan, double now_s, const AddedCompute& added)
    : plan_(&plan),
      begin_s_(now_s),
      last_s_(now_s),
      compute_s_(plan.compute_s),
      before_each_phase_s_(0),
      shares_(1),
      share_of_(plan.connections.size(), 0) {
  for (const PhasePlan& phase : plan.phases) starts_s_.push_back(phase.start_fraction * plan.compute_s);
  Delay(added.at_begin_s);
  SetComputeBeforeEachPhase(added.before_each_phase_s);
  Advance(now_s);
}

void IterationState::Delay(double seconds) {
  for (size_t p = num_reached_; p < starts_s_.size(); ++p) starts_s_[p] += seconds;
  compute_s_ += seconds;
}

void IterationState::SetComputeBeforeEachPhase(double seconds) {
  const double change = seconds - before_each_phase_s_;
  before_each_phase_s_ = seconds;
  double sum = 0;
  for (size_t p = num_reached_; p < starts_s_.size(); ++p) {
    sum += change;
    starts_s_[p] += sum;
  }
  compute_s_ += sum;
}

bool IterationState::local_part_is_over() const { return phase_runs_ && last_s_ + kSlack >= phase_local_end_s_; }

double IterationState::ClockLimit() const {
  for (size_t p = phase_; p < plan_->phases.size(); ++p) {
    if (plan_->phases[p].blocks_compute) return starts_s_[p];
  }
  return compute_s_;
}

void IterationState::Advance(double now_s) {
  FL_CHECK(now_s >= last_s_);
  const double clock_s = std::max(clock_s_, std::min(clock_s_ + (now_s - last_s_), ClockLimit()));
  AddStall(last_s_ + (clock_s - clock_s_), now_s);
  clock_s_ = clock_s;
  last_s_ = now_s;
  while (num_reached_ < starts_s_.size() && clock_s_ + kSlack >= starts_s_[num_reached_]) ++num_reached_;
  while (phase_ < plan_->phases.size()) {
    if (!phase_runs_) {
      if (num_reached_ <= phase_) return;
      BeginPhase(now_s);
    }
    if (!PhaseIsOver(now_s)) return;
    phase_spans_.back().to_s = now_s;
    phase_runs_ = false;
    ++phase_;
  }
  is_over_ = clock_s_ + kSlack >= compute_s_;
}

std::optional<double> IterationState::next_instant_s() const {
  std::optional<double> next;
  const auto add = [&](double at_s) { next = next ? std::min(*next, at_s) : at_s; };
  if (phase_runs_ && phase_local_end_s_ > last_s_ + kSlack) add(phase_local_end_s_);
  const double limit = ClockLimit();
  if (clock_s_ + kSlack < limit) {
    // Where a phase is called, or the iteration's compute ends.
    double target = limit;
    if (num_reached_ < starts_s_.size()) target = std::min(limit, starts_s_[num_reached_]);
    add(last_s_ + std::max(0.0, target - clock_s_));
  }
  return next;
}

void IterationState::AddStall(double from_s, double to_s) {
  if (to_s - from_s <= kSlack) return;
  if (!stalls_.empty() && from_s - stalls_.back().to_s <= kSlack) {
    stalls_.back().to_s = to_s;
  } else {
    stalls_.push_back({from_s, to_s});
  }
}

void IterationState::BeginPhase(double now_s) {
  const PhasePlan& phase = plan_->phases[phase_];
  phase_runs_ = true;
  phase_spans_.push_back({now_s, now_s});
  phase_local_end_s_ = now_s + phase.local_s;
  shares_.assign(1, Share());
  share_of_.assign(plan_->connections.size(), 0);
  streams_.clear();
  for (const StreamPlan& stream : phase.streams) {
    streams_.push_back({.plan = &stream,
                        .sends = AddShares(stream.sends, stream.pools),
                        .receives = AddShares(stream.receives, stream.pools)});
    for (const uint32_t share : streams_.back().receives) shares_[share].allowed = shares_[share].total;
    AllowParts(streams_.back());
  }
}

std::vector<uint32_t> IterationState::AddShares(const std::vector<TransferPlan>& transfers, bool pools) {
  std::vector<uint32_t> added;
  for (const Pool& pool : PoolsOf(plan_->connections, transfers, pools)) {
    added.push_back(static_cast<uint32_t>(shares_.size()));
    for (const uint32_t connection : pool.connections) share_of_[connection] = added.back();
    shares_.push_back({.total = pool.bytes, .num_connections = static_cast<uint32_t>(pool.connections.size())});
  }
  return added;
}

bool IterationState::PhaseIsOver(double now_s) const {
  if (now_s + kSlack < phase_local_end_s_) return false;
  return std::all_of(shares_.begin(), shares_.end(), [](const Share& share) { return share.done == share.total; });
}

void IterationState::AllowParts(const StreamState& stream) {
  // Whole parts that have come in over all queue pairs.
  uint64_t parts = stream.plan->parts;
  for (const uint32_t share : stream.receives) {
    uint64_t whole = 0;
    while (whole < parts && BytesOfParts(shares_[share].total, whole + 1, stream.plan->parts) <= shares_[share].done) {
      ++whole;
    }
    parts = std::min(parts, whole);
  }
  const uint64_t allowed = parts + stream.plan->lead;
  for (const uint32_t index : stream.sends) {
    Share& share = shares_[index];
    share.allowed = std::max(share.allowed, BytesOfParts(share.total, allowed, stream.plan->parts));
  }
}

uint64_t IterationState::next_chunk(uint32_t connection) const {
  const Share& share = ShareOf(connection);
  return std::min(sendable(connection), ChunkBytes(share.total, share.num_connections));
}

void IterationState::Take(uint32_t connection, uint64_t bytes) {
  FL_CHECK(bytes <= sendable(connection));
  MutableShareOf(connection).taken += bytes;
}

void IterationState::OnSent(uint32_t connection, uint64_t bytes) {
  Share& share = MutableShareOf(connection);
  FL_CHECK(bytes <= share.taken - share.done);
  share.done += bytes;
}

void IterationState::OnReceived(uint32_t connection, uint64_t bytes) {
  Take(connection, bytes);
  MutableShareOf(connection).done += bytes;
  for (const StreamState& stream : streams_) {
    if (stream.plan->lead < stream.plan->parts) AllowParts(stream);
  }
}

}  // namespace fairlead::lab
