// Address pairs and plain evidence for the tests of the port map.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "traffic/c4p/port_map.h"

namespace fairlead::traffic::c4p {

inline constexpr NodeId kLeaf(4);
inline constexpr uint64_t kWhole = 11;   // fingerprints: all uplinks,
inline constexpr uint64_t kBroken = 22;  // and one of them lost

inline AddressPair Pair(uint32_t source = 1, uint32_t destination = 2) {
  return {.source_address = source, .destination_address = destination, .source_leaf = kLeaf};
}

// Tells the map what probes show now.
inline void Learn(PortMap* map, const AddressPair& pair, const std::vector<SeenPort>& seen, int64_t at = 0) {
  ASSERT_TRUE(map->Record(pair, seen, map->EpochOf(pair.source_leaf), SimTime(at)).ok());
}
inline void Learn(PortMap* map, const AddressPair& pair, uint16_t port, uint32_t path, int64_t at = 0) {
  Learn(map, pair, {{port, path}}, at);
}

}  // namespace fairlead::traffic::c4p
