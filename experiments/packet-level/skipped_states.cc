#include "experiments/packet-level/skipped_states.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/random.h"
#include "experiments/packet-level/case_parts.h"
#include "fluid/flow_network.h"

namespace fairlead::experiments::packet_level {

namespace {

constexpr uint32_t kNumStages = 4;
constexpr uint32_t kReplicas = kNumHosts / kNumStages;
constexpr uint32_t kMicrobatches = 4;
constexpr double kStageComputeS = 2e-3;

// Two replicas of each stage under each leaf.
std::vector<uint32_t> HostsOfStage(uint32_t stage) { return RingHosts(kReplicas, 2 * stage); }
uint32_t HostOf(uint32_t stage, uint32_t replica) { return HostsOfStage(stage)[replica]; }

// Four pipeline stages of eight replicas: activations forth, gradients of activations back, then each stage's replicas
// all-reduce their gradients.
TwinCase GptStep(uint64_t activations, uint64_t gradients, Random* random) {
  CaseBuilder builder("GPT", packet::Transport::kMarking);
  std::vector<std::vector<uint32_t>> last_received(kNumStages, std::vector<uint32_t>(kReplicas));
  for (uint32_t r = 0; r < kReplicas; ++r) {
    // The next stage's host is under another leaf.
    const auto host = [&](uint32_t stage) { return HostOf(stage, (r + stage) % kReplicas); };
    std::vector<uint32_t> forth;
    std::vector<uint32_t> back;
    for (uint32_t s = 0; s + 1 < kNumStages; ++s) {
      forth.push_back(ConnectHashed(host(s), host(s + 1), random, &builder));
      back.push_back(ConnectHashed(host(s + 1), host(s), random, &builder));
    }
    std::vector<uint32_t> at_the_end(kMicrobatches);
    for (uint32_t m = 0; m < kMicrobatches; ++m) {
      std::vector<uint32_t> before;
      for (uint32_t s = 0; s + 1 < kNumStages; ++s) {
        before = {builder.AddMessage(forth[s], activations, before, (s == 0 ? m + 1 : 1) * kStageComputeS)};
      }
      at_the_end[m] = before.front();
    }
    for (uint32_t m = 0; m < kMicrobatches; ++m) {
      uint32_t before = at_the_end[m];
      for (uint32_t s = kNumStages - 1; s-- > 0;) {
        before = builder.AddMessage(back[s], activations, {before}, 2 * kStageComputeS);
        last_received[s][(r + s) % kReplicas] = before;
      }
    }
    last_received[kNumStages - 1][(r + kNumStages - 1) % kReplicas] = at_the_end.back();
  }
  for (uint32_t s = 0; s < kNumStages; ++s) {
    AddRing(HostsOfStage(s), gradients, last_received[s], random, &builder);
  }
  return builder.Take();
}

// Four groups of eight experts: tokens to all experts of the group and back, twice, then the hosts of the same experts
// all-reduce.
TwinCase MoeStep(uint64_t tokens, uint64_t gradients, Random* random) {
  CaseBuilder builder("MoE", packet::Transport::kMarking);
  std::vector<std::vector<uint32_t>> last_received(kNumStages, std::vector<uint32_t>(kReplicas));
  for (uint32_t group = 0; group < kNumStages; ++group) {
    std::vector<std::vector<uint32_t>> edges(kReplicas, std::vector<uint32_t>(kReplicas));
    for (uint32_t i = 0; i < kReplicas; ++i) {
      for (uint32_t j = 0; j < kReplicas; ++j) {
        if (i != j) edges[i][j] = ConnectHashed(HostOf(group, i), HostOf(group, j), random, &builder);
      }
    }
    std::vector<std::vector<uint32_t>> received(kReplicas);  // [host] messages of the round before
    for (uint32_t round = 0; round < 4; ++round) {
      std::vector<std::vector<uint32_t>> next(kReplicas);
      for (uint32_t i = 0; i < kReplicas; ++i) {
        for (uint32_t turn = 1; turn < kReplicas; ++turn) {
          const uint32_t j = (i + turn) % kReplicas;
          next[j].push_back(builder.AddMessage(edges[i][j], tokens / kReplicas, received[i], kStageComputeS));
        }
      }
      received = std::move(next);
    }
    for (uint32_t i = 0; i < kReplicas; ++i) last_received[group][i] = received[i].back();
  }
  for (uint32_t i = 0; i < kReplicas; ++i) {
    std::vector<uint32_t> hosts;
    std::vector<uint32_t> ready;
    for (uint32_t group = 0; group < kNumStages; ++group) {
      hosts.push_back(HostOf(group, i));
      ready.push_back(last_received[group][i]);
    }
    AddRing(hosts, gradients, ready, random, &builder);
  }
  return builder.Take();
}

// Four on one link, each twice as long as the one before.
TwinCase OneAfterAnother(uint64_t shortest) {
  CaseBuilder builder("one after another", packet::Transport::kMarking);
  for (uint32_t f = 0; f < kHostsPerLeaf / 2; ++f) {
    builder.AddMessage(builder.AddConnection(f, kHostsPerLeaf + f, 0), shortest << f);
  }
  return builder.Take();
}

// The fluid engine's rates of the connections of a steady state, which then have something to send without end.
std::vector<double> FluidRates(const TwinCase& twin, const std::vector<uint32_t>& connections) {
  constexpr double kEndless = 1e15;
  fluid::FlowNetwork network(twin.fluid_capacities);
  std::vector<fluid::FlowId> flows;
  for (const uint32_t c : connections) {
    flows.push_back(network.AddFlow(twin.routes[c], twin.packets.connections[c].level));
    network.Start(flows.back(), kEndless);
  }
  std::vector<double> rates;
  for (const fluid::FlowId flow : flows) rates.push_back(network.Rate(flow));
  return rates;
}

double SteadyRateError(const TwinCase& twin, const std::vector<packet::SteadyState>& states) {
  double wrong = 0;
  double all = 0;
  for (const packet::SteadyState& state : states) {
    const std::vector<double> told = FluidRates(twin, state.connections);
    for (size_t i = 0; i < told.size(); ++i) {
      wrong += std::abs(told[i] - state.rates[i]) * state.length_s;
      all += state.rates[i] * state.length_s;
    }
  }
  return all > 0 ? 100 * wrong / all : 0;
}

}  // namespace

std::vector<CaseFamily> TrainingSteps(uint64_t seed, uint32_t num_draws, bool reduced) {
  constexpr uint64_t kMegabyte = 1'000'000;
  std::vector<CaseFamily> families;
  const auto add = [&](std::string name, const auto& make) {
    families.push_back(DrawFamily(std::move(name), 0, seed, num_draws, make));
  };
  families.push_back({.name = "four flows that end one after another",
                      .goal = 0,
                      .draws = {OneAfterAnother((reduced ? 16 : 64) * kMegabyte)}});
  const auto gpt = [](uint64_t bytes) {
    return [bytes](Random* random) { return GptStep(bytes, kReplicas * bytes, random); };
  };
  const auto moe = [](uint64_t bytes, int64_t increase_timer) {
    return [bytes, increase_timer](Random* random) {
      TwinCase twin = MoeStep(kReplicas * bytes, kNumStages * bytes, random);
      twin.options.rate_control.increase_timer = increase_timer;
      return twin;
    };
  };
  const uint64_t long_message = (reduced ? 8 : 128) * kMegabyte;
  const uint64_t message = long_message / 4;
  add("GPT-like step", gpt(long_message));
  add("GPT-like step, a quarter of the bytes", gpt(message));
  add("MoE-like step", moe(message, packet::RateControlOptions().increase_timer));
  add("MoE-like step, recovery each 55 us", moe(message, 55'000'000));
  return families;
}

SkippedStates MeasureSkipping(const TwinCase& twin, uint64_t seed) {
  TwinCase skipping = twin;
  skipping.options.skip_steady = packet::SteadyStateOptions();
  const packet::PacketResult all = SimulateTwin(twin, seed);
  const packet::PacketResult skipped = SimulateTwin(skipping, seed);
  const TwinTimes real = TimesOf(all);
  return {.num_messages = static_cast<double>(twin.packets.messages.size()),
          .saved = static_cast<double>(all.num_events) / static_cast<double>(skipped.num_events),
          .skipped_share = 100 * static_cast<double>(skipped.bytes_skipped) / static_cast<double>(all.bytes_delivered),
          .of_skipping = Compare(real, TimesOf(skipped)),
          .of_other_marks = Compare(real, RunPackets(twin, CombineHash(seed, 1))),
          .of_fluid = Compare(real, RunFluid(twin, true)),
          .of_steady_rates = SteadyRateError(twin, skipped.steady_states)};
}

SkippedStates Merge(const std::vector<SkippedStates>& draws) {
  const auto n = static_cast<double>(draws.size());
  SkippedStates merged;
  std::vector<TwinErrors> of_skipping;
  std::vector<TwinErrors> of_other_marks;
  std::vector<TwinErrors> of_fluid;
  for (const SkippedStates& draw : draws) {
    merged.num_messages = draw.num_messages;
    merged.saved += draw.saved / n;
    merged.skipped_share += draw.skipped_share / n;
    merged.of_steady_rates += draw.of_steady_rates / n;
    of_skipping.push_back(draw.of_skipping);
    of_other_marks.push_back(draw.of_other_marks);
    of_fluid.push_back(draw.of_fluid);
  }
  merged.of_skipping = Merge(of_skipping);
  merged.of_other_marks = Merge(of_other_marks);
  merged.of_fluid = Merge(of_fluid);
  return merged;
}

}  // namespace fairlead::experiments::packet_level
