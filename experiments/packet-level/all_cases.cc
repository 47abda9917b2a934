#include "experiments/packet-level/all_cases.h"

#include <fmt/format.h>

#include <numeric>
#include <span>
#include <utility>

#include "base/random.h"

namespace fairlead::experiments::packet_level {

namespace {

using packet::Transport;

constexpr uint64_t kMegabyte = 1'000'000;

// A host of another leaf for host i: crosses the spines.
uint32_t Opposite(uint32_t host) { return (host + kHostsPerLeaf) % kNumHosts; }

TwinCase OneFlow(uint64_t bytes) {
  CaseBuilder builder("one flow", Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, Opposite(0), 0), bytes);
  return builder.Take();
}

// All over spine 0, from one leaf to another.
TwinCase FlowsOnOneLink(uint32_t num_flows, uint64_t bytes) {
  CaseBuilder builder("flows on one link", Transport::kMarking);
  for (uint32_t f = 0; f < num_flows; ++f) builder.AddMessage(builder.AddConnection(f, Opposite(f), 0), bytes);
  return builder.Take();
}

// One flow over two full links, another on each of them: max-min gives all of them half of a link. The first one meets
// two queues.
TwinCase ParkingLot(uint64_t bytes) {
  CaseBuilder builder("two bottlenecks", Transport::kMarking);
  builder.AddMessage(builder.AddConnection(0, 8, 0), bytes);
  builder.AddMessage(builder.AddConnection(1, 16, 0), bytes);  // shares leaf 0 -> spine 0
  builder.AddMessage(builder.AddConnection(24, 8, 1), bytes);  // shares the link to host 8
  return builder.Take();
}

TwinCase Incast(uint32_t num_senders, uint64_t bytes, Transport transport) {
  CaseBuilder builder("incast", transport);
  for (uint32_t s = 0; s < num_senders; ++s) {
    // From the other leaves, each over a spine of its own.
    const uint32_t sender = kHostsPerLeaf + s;
    const uint32_t connection = transport == Transport::kPulled ? builder.AddSprayed(sender, 0)
                                                                : builder.AddConnection(sender, 0, s % kNumSpines);
    builder.AddMessage(connection, bytes);
  }
  return builder.Take();
}

// The same as the fluid simulator of jobs sees it: every edge sends all it has to at once.
void AddFlatRing(const std::vector<uint32_t>& hosts, uint64_t bytes, Random* random, CaseBuilder* builder) {
  const auto n = static_cast<uint32_t>(hosts.size());
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t edge = ConnectHashed(hosts[i], hosts[(i + 1) % n], random, builder);
    builder->AddMessage(edge, uint64_t{2} * (n - 1) * (bytes / n));
  }
}

// Compute, then send, again and again. Both jobs share the link from leaf 0 to spine 0.
// Args: compute of each job, in units of what it sends when alone.
TwinCase TwoJobs(bool has_levels, double first_compute, double second_compute, uint64_t bytes) {
  constexpr uint32_t kNumIterations = 20;
  CaseBuilder builder("two jobs", Transport::kMarking);
  const double alone_s = static_cast<double>(bytes) / kLinkBytesPerS;
  const struct {
    uint32_t source;
    uint32_t level;
    double compute_s;
    double start_s;
  } jobs[] = {{0, 0, first_compute * alone_s, 0}, {1, has_levels ? 1u : 0u, second_compute * alone_s, 0.4 * alone_s}};
  for (const auto& job : jobs) {
    const uint32_t connection = builder.AddConnection(job.source, Opposite(job.source), 0, job.level);
    uint32_t last = builder.AddMessage(connection, bytes, {}, job.start_s + job.compute_s);
    for (uint32_t i = 1; i < kNumIterations; ++i) last = builder.AddMessage(connection, bytes, {last}, job.compute_s);
  }
  return builder.Take();
}

// Over all spines where packets are sprayed, over one drawn by chance otherwise.
uint32_t Connect(uint32_t source, uint32_t destination, Transport transport, CaseBuilder* builder, Random* random) {
  if (transport == Transport::kPulled) return builder->AddSprayed(source, destination);
  return ConnectHashed(source, destination, random, builder);
}

// Every host sends to one of another leaf, and every host receives once.
TwinCase Permutation(uint64_t bytes, Transport transport, uint32_t num_dead, Random* random) {
  CaseBuilder builder("permutation", transport, num_dead);
  std::vector<uint32_t> partner(kHostsPerLeaf);
  std::iota(partner.begin(), partner.end(), 0u);
  for (uint32_t leaf = 0; leaf < kNumLeaves; ++leaf) {
    random->Shuffle(std::span(partner));
    for (uint32_t i = 0; i < kHostsPerLeaf; ++i) {
      const uint32_t source = leaf * kHostsPerLeaf + i;
      const uint32_t destination = Opposite(leaf * kHostsPerLeaf + partner[i]);
      builder.AddMessage(Connect(source, destination, transport, &builder, random), bytes);
    }
  }
  return builder.Take();
}

// Four hosts of each leaf send to all hosts of other leaves that take part.
TwinCase AllToAll(uint64_t bytes, Transport transport, Random* random) {
  CaseBuilder builder("all-to-all", transport);
  const std::vector<uint32_t> hosts = RingHosts(16, 0);
  for (const uint32_t source : hosts) {
    for (const uint32_t destination : hosts) {
      if (source / kHostsPerLeaf == destination / kHostsPerLeaf) continue;
      builder.AddMessage(Connect(source, destination, transport, &builder, random), bytes);
    }
  }
  return builder.Take();
}

}  // namespace

std::vector<CaseFamily> AllCases(uint64_t seed, uint32_t num_draws, bool reduced) {
  const uint64_t large = (reduced ? 8 : 64) * kMegabyte;
  const uint64_t small = (reduced ? 1 : 8) * kMegabyte;
  const auto ring = [&](uint32_t num_rings, uint32_t num_hosts, bool is_flat) {
    return [=](Random* random) {
      CaseBuilder builder("rings", Transport::kMarking);
      for (uint32_t r = 0; r < num_rings; ++r) {
        const std::vector<uint32_t> hosts = RingHosts(num_hosts, r * (num_hosts / kNumLeaves));
        is_flat ? AddFlatRing(hosts, large, random, &builder) : AddRing(hosts, large, {}, random, &builder);
      }
      return builder.Take();
    };
  };
  std::vector<CaseFamily> families;
  const auto add = [&](std::string name, double goal, TwinCase twin) {
    CaseFamily& family = families.emplace_back(CaseFamily{.name = std::move(name), .goal = goal, .draws = {}});
    family.draws.push_back(std::move(twin));
  };
  add("one flow, small", 0, OneFlow(small / 8));
  add("one flow, large", 1, OneFlow(large));
  add("2 flows on a link", 1, FlowsOnOneLink(2, large));
  add("4 flows on a link", 1, FlowsOnOneLink(4, large));
  add("two bottlenecks", 0, ParkingLot(large));
  families.push_back(DrawFamily("ring of 8, step by step", 5, seed, num_draws, ring(1, 8, false)));
  families.push_back(DrawFamily("ring of 16, step by step", 5, seed, num_draws, ring(1, 16, false)));
  families.push_back(DrawFamily("two rings of 16, step by step", 5, seed, num_draws, ring(2, 16, false)));
  families.push_back(DrawFamily("two rings of 16, all at once", 5, seed, num_draws, ring(2, 16, true)));
  add("two jobs, one level", 0, TwoJobs(false, 1.5, 1.9, small));
  add("two jobs, two levels", 0, TwoJobs(true, 1.5, 1.9, small));
  // What the second sends fits between two messages of the first but for 0.8 %.
  add("two jobs, two levels, on the edge", 0, TwoJobs(true, 1, 1.3, small));
  // Nothing of these is drawn but which packets are marked.
  for (const uint32_t num_senders : {2u, 8u, 16u}) {
    families.push_back(DrawFamily(fmt::format("incast of {}", num_senders), 0, seed, num_draws,
                                  [&](Random*) { return Incast(num_senders, small, Transport::kMarking); }));
  }
  // One cause at a time of what 16 senders lose under DCQCN: cuts that follow one another, and the way back.
  const auto incast_with = [&](std::string name, const auto& change) {
    families.push_back(DrawFamily(std::move(name), 0, seed, num_draws, [&](Random*) {
      TwinCase twin = Incast(16, small, Transport::kMarking);
      change(&twin.options);
      return twin;
    }));
  };
  incast_with("incast of 16, a cut each 50 us",
              [](packet::PacketOptions* options) { options->rate_control.decrease_interval = 50'000'000; });
  incast_with("incast of 16, recovery each 55 us",
              [](packet::PacketOptions* options) { options->rate_control.increase_timer = 55'000'000; });
  incast_with("incast of 16, marks at four times the queue", [](packet::PacketOptions* options) {
    options->mark_min *= 4;
    options->mark_max *= 4;
  });
  add("incast of 16, sprayed", 0, Incast(16, small, Transport::kPulled));
  families.push_back(DrawFamily("permutation, hashed", 0, seed, num_draws,
                                [&](Random* random) { return Permutation(small, Transport::kMarking, 0, random); }));
  families.push_back(DrawFamily("permutation, sprayed", 0, seed, num_draws,
                                [&](Random* random) { return Permutation(small, Transport::kPulled, 0, random); }));
  families.push_back(DrawFamily("permutation, sprayed, a cable lost", 0, seed, num_draws,
                                [&](Random* random) { return Permutation(small, Transport::kPulled, 1, random); }));
  families.push_back(DrawFamily("all-to-all of 16, hashed", 0, seed, num_draws,
                                [&](Random* random) { return AllToAll(small / 8, Transport::kMarking, random); }));
  families.push_back(DrawFamily("all-to-all of 16, sprayed", 0, seed, num_draws,
                                [&](Random* random) { return AllToAll(small / 8, Transport::kPulled, random); }));
  return families;
}

}  // namespace fairlead::experiments::packet_level
