#include "lab/trainer/iteration_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace fairlead::lab {
namespace {

// One worker that sends to itself over a perfect pipe: connection 0 sends what connection 1 receives.
TrainerPlan LoopPlan(double compute_s) {
  TrainerPlan plan;
  plan.compute_s = compute_s;
  plan.connections.resize(2);
  plan.connections[0].is_outgoing = true;
  return plan;
}

PhasePlan Phase(double start_fraction, bool blocks, uint64_t bytes) {
  PhasePlan phase{.name = "p", .start_fraction = start_fraction, .blocks_compute = blocks, .local_s = 0, .streams = {}};
  if (bytes > 0)
    phase.streams = {{.parts = 1, .lead = 1, .pools = false, .sends = {{0, bytes}}, .receives = {{1, bytes}}}};
  return phase;
}

// Stalls lie apart, in the iteration, and add up to what was exposed; phases follow each other.
void ExpectSpansAddUp(const IterationState& state, double begin_s, double end_s) {
  double stalled_s = 0;
  double last_s = begin_s;
  for (const TimeSpan& stall : state.stalls()) {
    EXPECT_GE(stall.from_s, last_s);
    EXPECT_GT(stall.to_s, stall.from_s);
    last_s = stall.to_s;
    stalled_s += stall.to_s - stall.from_s;
  }
  EXPECT_LE(last_s, end_s);
  EXPECT_NEAR(stalled_s, state.exposed_s(end_s), 1e-6);
  last_s = begin_s;
  for (const TimeSpan& span : state.phase_spans()) {
    EXPECT_GE(span.from_s, last_s);
    EXPECT_GE(span.to_s, span.from_s);
    last_s = span.to_s;
  }
  EXPECT_LE(last_s, end_s);
}

// Runs an iteration in which the pipe carries `speed` bytes a second, a millisecond at a time or to the next instant.
double Simulate(const TrainerPlan& plan, double speed) {
  double now_s = 100;
  IterationState state(plan, now_s);
  double credit = 0;
  for (int i = 0; !state.is_over(); ++i) {
    if (i > 1'000'000) return -1;
    const double next_s = std::min(now_s + 1e-3, state.next_instant_s().value_or(now_s + 1e-3));
    const bool busy = state.sendable(0) > 0;
    credit = busy ? credit + (next_s - now_s) * speed : 0;
    now_s = next_s;
    const auto bytes = std::min<uint64_t>(state.sendable(0), static_cast<uint64_t>(credit));
    if (bytes > 0) {
      credit -= static_cast<double>(bytes);
      state.Take(0, bytes);
      state.OnSent(0, bytes);
      state.OnReceived(1, bytes);
    }
    state.Advance(now_s);
  }
  ExpectSpansAddUp(state, 100, now_s);
  EXPECT_EQ(state.phase_spans().size(), plan.phases.size());
  return now_s - 100;
}

TEST(IterationState, ComputeAloneTakesItsTime) { EXPECT_NEAR(Simulate(LoopPlan(0.25), 1), 0.25, 1e-9); }

TEST(IterationState, CommunicationAtTheEndAddsItsTime) {
  TrainerPlan plan = LoopPlan(0.2);
  plan.phases = {Phase(1, false, 300)};
  EXPECT_NEAR(Simulate(plan, 1000), 0.2 + 0.3, 3e-3);
}

TEST(IterationState, CommunicationBesideComputeHides) {
  TrainerPlan plan = LoopPlan(0.4);
  plan.phases = {Phase(0.5, false, 100)};  // from 0.2 s to 0.3 s
  EXPECT_NEAR(Simulate(plan, 1000), 0.4, 1e-9);
  plan.phases = {Phase(0.5, false, 300)};  // to 0.5 s
  EXPECT_NEAR(Simulate(plan, 1000), 0.5, 3e-3);
}

TEST(IterationState, BlockingPhaseStopsTheClock) {
  TrainerPlan plan = LoopPlan(0.4);
  plan.phases = {Phase(0.5, true, 300)};
  EXPECT_NEAR(Simulate(plan, 1000), 0.4 + 0.3, 3e-3);
}

TEST(IterationState, LocalTimeCountsAndPhasesFollowEachOther) {
  TrainerPlan plan = LoopPlan(0.1);
  plan.phases = {Phase(1, false, 100), Phase(1, false, 0), Phase(1, false, 100)};
  plan.phases[1].local_s = 0.25;
  EXPECT_NEAR(Simulate(plan, 1000), 0.1 + 0.1 + 0.25 + 0.1, 5e-3);
}

// A ring of n workers over perfect pipes: no worker may be more than `lead` parts ahead of what it has received.
TEST(IterationState, RingMovesInLockstep) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const size_t n = 2 + random.Below(4);
    const auto lead = static_cast<uint32_t>(1 + random.Below(8));
    const auto parts = static_cast<uint32_t>(2 * (n - 1)) * lead;
    const uint64_t bytes = 1 + random.Below(100'000);
    TrainerPlan plan = LoopPlan(0);
    plan.phases = {Phase(0, false, bytes)};
    plan.phases[0].streams[0].parts = parts;
    plan.phases[0].streams[0].lead = lead;
    std::vector<IterationState> states(n, IterationState(plan, 0));
    std::vector<uint64_t> sent(n);  // by worker w, received by worker w + 1
    while (!std::all_of(states.begin(), states.end(), [](const IterationState& s) { return s.is_over(); })) {
      // A random worker moves as much as it may; someone always can, or this would not end.
      const size_t w = random.Below(n);
      const uint64_t count = std::min(states[w].sendable(0), 1 + random.Below(bytes));
      if (count == 0) continue;
      states[w].Take(0, count);
      states[w].OnSent(0, count);
      sent[w] += count;
      states[(w + 1) % n].OnReceived(1, count);
      for (IterationState& state : states) state.Advance(0);
      const uint64_t received = sent[(w + n - 1) % n];
      // A part has at most bytes / parts + 1 bytes, and one may be under way.
      EXPECT_LE(sent[w], received + (lead + 1) * (bytes / parts + 1)) << "seed " << seed;
    }
    for (const uint64_t count : sent) EXPECT_EQ(count, bytes);
  }
}

// One worker with `num` queue pairs to itself that share the bytes: q sends what num + q receives.
TrainerPlan PooledPlan(uint32_t num, uint64_t bytes_of_each) {
  TrainerPlan plan;
  plan.connections.resize(2 * size_t{num});
  plan.phases = {Phase(0, false, 0)};
  StreamPlan stream{.parts = 1, .lead = 1, .pools = true, .sends = {}, .receives = {}};
  for (uint32_t q = 0; q < num; ++q) {
    plan.connections[q].is_outgoing = true;
    stream.sends.push_back({q, bytes_of_each});
    stream.receives.push_back({num + q, bytes_of_each});
  }
  plan.phases[0].streams = {stream};
  return plan;
}

TEST(IterationState, WhatAConnectionOfAPoolTakesNoOtherOneSends) {
  const TrainerPlan plan = PooledPlan(2, 30'000);
  IterationState state(plan, 0);
  EXPECT_EQ(state.sendable(0), 60'000u);
  EXPECT_EQ(state.sendable(1), 60'000u);
  EXPECT_EQ(state.next_chunk(0), 4096u);  // 60000 / 32 is below the least
  state.Take(0, 59'000);
  EXPECT_EQ(state.sendable(1), 1000u);
  EXPECT_EQ(state.next_chunk(1), 1000u);
  state.Take(1, 1000);
  EXPECT_EQ(state.sendable(0), 0u);
  state.OnReceived(2, 60'000);
  EXPECT_EQ(state.expected(3), 0u);
  state.OnSent(1, 1000);
  state.OnSent(0, 58'999);
  state.Advance(1);
  EXPECT_FALSE(state.is_over()) << "one byte is taken and not sent";
  state.OnSent(0, 1);
  state.Advance(2);
  EXPECT_TRUE(state.is_over());
}

TEST(IterationState, PoolsLieBetweenTwoNics) {
  TrainerPlan plan = PooledPlan(3, 100);
  for (const uint32_t q : {2u, 5u}) plan.connections[q].to = "10.0.0.9";
  const IterationState state(plan, 0);
  EXPECT_EQ(state.sendable(0), 200u);
  EXPECT_EQ(state.sendable(2), 100u);
  EXPECT_EQ(state.expected(4), 200u);
  EXPECT_EQ(state.expected(5), 100u);
  EXPECT_TRUE(state.HaveOnePool(3, 4));
  EXPECT_FALSE(state.HaveOnePool(3, 5));
  EXPECT_FALSE(state.HaveOnePool(0, 3)) << "each direction has its own";
}

// A ring of n workers with randomly served queue pairs: every pool is sent in full, and no worker is more than `lead`
// parts of the pool ahead of what it has received.
TEST(IterationState, RingOfPoolsMovesInLockstep) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const size_t n = 2 + random.Below(4);
    const auto num = static_cast<uint32_t>(2 + random.Below(7));
    const auto lead = static_cast<uint32_t>(1 + random.Below(8));
    const auto parts = static_cast<uint32_t>(2 * (n - 1)) * lead;
    TrainerPlan plan = PooledPlan(num, 1 + random.Below(20'000));
    plan.phases[0].streams[0].parts = parts;
    plan.phases[0].streams[0].lead = lead;
    const uint64_t bytes = num * plan.phases[0].streams[0].sends[0].bytes;
    std::vector<IterationState> states(n, IterationState(plan, 0));
    std::vector<uint64_t> sent(n);  // by worker w, received by worker w + 1
    while (!std::all_of(states.begin(), states.end(), [](const IterationState& s) { return s.is_over(); })) {
      const size_t w = random.Below(n);
      const auto q = static_cast<uint32_t>(random.Below(num));
      const uint64_t count = std::min(states[w].sendable(q), 1 + random.Below(bytes));
      if (count == 0) continue;
      states[w].Take(q, count);
      states[w].OnSent(q, count);
      sent[w] += count;
      states[(w + 1) % n].OnReceived(num + q, count);
      for (IterationState& state : states) state.Advance(0);
      // A part has at most bytes / parts + 1 bytes, and one may be under way.
      EXPECT_LE(sent[w], sent[(w + n - 1) % n] + (lead + 1) * (bytes / parts + 1)) << "seed " << seed;
    }
    for (const uint64_t count : sent) EXPECT_EQ(count, bytes);
  }
}

TEST(IterationState, WaitsForDataWhereNothingElseCanHappen) {
  TrainerPlan plan = LoopPlan(0);
  plan.phases = {Phase(0, false, 10)};
  IterationState state(plan, 5);
  EXPECT_FALSE(state.is_over());
  EXPECT_EQ(state.next_instant_s(), std::nullopt);
  EXPECT_EQ(state.sendable(0), 10u);
  EXPECT_EQ(state.expected(1), 10u);
  state.Take(0, 10);
  state.OnSent(0, 10);
  state.Advance(6);
  EXPECT_FALSE(state.is_over());
  state.OnReceived(1, 10);
  state.Advance(7);
  EXPECT_TRUE(state.is_over());
  EXPECT_NEAR(state.exposed_s(7), 2, 1e-12);
}

// Runs an iteration with bytes that take no time, and planted misbehaviour.
double SimulateWith(const TrainerPlan& plan, const AddedCompute& added) {
  double now_s = 100;
  IterationState state(plan, now_s, added);
  while (!state.is_over()) {
    if (state.sendable(0) > 0) {
      const uint64_t bytes = state.sendable(0);
      state.Take(0, bytes);
      state.OnSent(0, bytes);
      state.OnReceived(1, bytes);
    } else {
      now_s = state.next_instant_s().value();
    }
    state.Advance(now_s);
  }
  ExpectSpansAddUp(state, 100, now_s);
  EXPECT_EQ(state.phase_spans().size(), plan.phases.size());
  return now_s - 100;
}

TEST(IterationState, AddedComputeMakesTheIterationAsMuchLonger) {
  TrainerPlan plan = LoopPlan(0.4);
  plan.phases = {Phase(0.25, true, 10), Phase(0.5, false, 10), Phase(1, true, 10)};
  EXPECT_NEAR(SimulateWith(plan, {}), 0.4, 1e-9);
  EXPECT_NEAR(SimulateWith(plan, {.at_begin_s = 0.3}), 0.7, 1e-9);
  EXPECT_NEAR(SimulateWith(plan, {.before_each_phase_s = 0.2}), 0.4 + 3 * 0.2, 1e-9);
}

TEST(IterationState, PhasesAreReachedWhenTheirComputeIsDone) {
  TrainerPlan plan = LoopPlan(1);
  plan.phases = {Phase(0.5, false, 10), Phase(0.5, false, 10), Phase(1, true, 10)};
  IterationState state(plan, 0);
  EXPECT_EQ(state.num_reached(), 0u);
  state.Advance(0.5);
  EXPECT_EQ(state.num_reached(), 2u) << "called together, though the second one waits for the first";
  EXPECT_EQ(state.phase(), 0u);
  EXPECT_TRUE(state.phase_runs());
  // From now on: the third phase is another 0.25 s away, and 0.1 s more by a pause.
  state.SetComputeBeforeEachPhase(0.25);
  state.Delay(0.1);
  state.Advance(1.3);
  EXPECT_EQ(state.num_reached(), 2u);
  state.Advance(1.35);
  EXPECT_EQ(state.num_reached(), 3u);
  EXPECT_EQ(state.phase(), 0u) << "whose bytes nobody has moved";
}

TEST(IterationState, StallsLastFromTheClocksLimitToThePhasesEnd) {
  TrainerPlan plan = LoopPlan(1);
  plan.phases = {Phase(0.5, true, 10), Phase(1, false, 10)};
  IterationState state(plan, 100);
  const auto move = [&](double at_s) {
    state.Take(0, 10);
    state.OnSent(0, 10);
    state.OnReceived(1, 10);
    state.Advance(at_s);
  };
  state.Advance(100.75);  // seen a quarter late: the clock stood still from 100.5 on
  EXPECT_EQ(state.phase_spans(), (std::vector<TimeSpan>{{100.75, 100.75}}));
  move(101);
  EXPECT_EQ(state.stalls(), (std::vector<TimeSpan>{{100.5, 101}}));
  EXPECT_EQ(state.phase_spans()[0], (TimeSpan{100.75, 101}));
  state.Advance(101.5);
  move(102);
  EXPECT_TRUE(state.is_over());
  EXPECT_EQ(state.stalls(), (std::vector<TimeSpan>{{100.5, 101}, {101.5, 102}}));
  EXPECT_EQ(state.phase_spans()[1], (TimeSpan{101.5, 102}));
}

TEST(IterationState, LimitsHoldUpWhatIsSent) {
  TrainerPlan plan = LoopPlan(0);
  plan.phases = {Phase(0, true, 100)};
  IterationState state(plan, 0);
  EXPECT_EQ(state.sendable(0), 100u);
  state.SetLimit(0, 0);
  EXPECT_EQ(state.sendable(0), 0u);
  state.SetLimit(0, 30);
  state.Take(0, 20);
  EXPECT_EQ(state.sendable(0), 10u);
  EXPECT_EQ(state.expected(1), 100u);
}

}  // namespace
}  // namespace fairlead::lab
