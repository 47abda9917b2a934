// Small fabrics and plain rounds for the tests of the probe plan.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"
#include "traffic/c4p/probe_plan.h"

namespace fairlead::traffic::c4p {

// plane, from, to
using PairKey = std::tuple<uint32_t, NodeId, NodeId>;
inline PairKey KeyOf(const ProbePair& pair) { return {pair.plane, pair.source_leaf, pair.destination_leaf}; }

inline topology::Fabric Clos(uint32_t leaves, uint32_t hosts_per_leaf) {
  topology::ClosSpec spec;
  spec.leaves = leaves;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return topology::BuildClos(spec).value();
}

// Two rails of bonded ports: leaves 4 s + 2 r + p of segment s, rail r and plane p.
inline topology::Fabric Rails(uint32_t segments, uint32_t hosts, bool shared_planes = false) {
  topology::RailSpec spec;
  spec.segments = segments;
  spec.hosts_per_segment = hosts;
  spec.spines = 2;
  spec.shared_planes = shared_planes;
  spec.host.gpus = 2;
  spec.host.nics = 2;
  spec.host.pcie_switches = 2;
  spec.host.ports_per_nic = 2;
  return topology::BuildRail(spec).value();
}

inline ProbeView View(uint32_t num_paths = 1) {
  return {.num_paths = [num_paths](NodeId, NodeId) { return num_paths; }, .can_probe = nullptr};
}

inline std::vector<ProbePair> Round(ProbePlan* plan, const ProbeView& view = View(), ProbeRound* done = nullptr) {
  std::vector<ProbePair> pairs;
  const ProbeRound round = plan->NextRound(view, [&](const ProbePair& pair) { pairs.push_back(pair); });
  EXPECT_EQ(round.num_pairs, pairs.size());
  if (done != nullptr) *done = round;
  return pairs;
}

inline std::set<PairKey> KeysOf(const std::vector<ProbePair>& pairs) {
  std::set<PairKey> keys;
  for (const ProbePair& pair : pairs) keys.insert(KeyOf(pair));
  EXPECT_EQ(keys.size(), pairs.size()) << "a pair came twice in a round";
  return keys;
}

}  // namespace fairlead::traffic::c4p
