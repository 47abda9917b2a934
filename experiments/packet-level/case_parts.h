// What cases are built of: rings of hosts, hashed connections, families of draws.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "experiments/packet-level/twin_case.h"

namespace fairlead::experiments::packet_level {

struct CaseFamily {
  std::string name;
  double goal = 0;              // greatest mean error of the times of messages, %; 0: none
  std::vector<TwinCase> draws;  // of paths; one where none are drawn
};

// Args: make(Random*) -> TwinCase.
template <class Make>
CaseFamily DrawFamily(std::string name, double goal, uint64_t seed, uint32_t num_draws, const Make& make) {
  CaseFamily family{.name = std::move(name), .goal = goal, .draws = {}};
  for (uint32_t d = 0; d < num_draws; ++d) {
    Random random(CombineHash(seed, d));
    family.draws.push_back(make(&random));
  }
  return family;
}

// The hosts of a ring: neighbours under different leaves.
std::vector<uint32_t> RingHosts(uint32_t num_hosts, uint32_t first);

// On the path over a spine drawn by chance.
uint32_t ConnectHashed(uint32_t source, uint32_t destination, Random* random, CaseBuilder* builder);

// All-reduce: 2(n-1) steps of a chunk; a host sends what it received in the step before. Paths are hashed.
// Args: ready: [host of the ring] the message that it waits for before its first one; empty: none waits.
void AddRing(const std::vector<uint32_t>& hosts, uint64_t bytes, const std::vector<uint32_t>& ready, Random* random,
             CaseBuilder* builder);

}  // namespace fairlead::experiments::packet_level
