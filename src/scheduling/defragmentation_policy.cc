#include "scheduling/defragmentation_policy.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace fairlead::scheduling {

bool IsTorn(const RackBlocks& blocks) {
  return std::ranges::count_if(blocks, [](uint32_t count) { return count > 0; }) > 1;
}

std::vector<uint32_t> RackLoads(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where) {
  FL_CHECK(segments.size() == where.size());
  std::vector<uint32_t> loads(where.empty() ? 0 : where.front().size(), 0);
  for (size_t s = 0; s < where.size(); ++s) {
    if (!IsTorn(where[s])) continue;
    for (size_t t = 0; t < loads.size(); ++t) loads[t] += where[s][t] > 0 ? segments[s].num_rings : 0;
  }
  return loads;
}

std::vector<BlockMove> MovesTo(const std::vector<Segment>& segments, const std::vector<RackBlocks>& where) {
  FL_CHECK(segments.size() == where.size());
  std::vector<BlockMove> moves;
  for (uint32_t s = 0; s < segments.size(); ++s) {
    const RackBlocks& before = segments[s].blocks;
    FL_CHECK(std::reduce(before.begin(), before.end()) == std::reduce(where[s].begin(), where[s].end()));
    uint32_t to = 0;
    uint32_t num_arrived = 0;  // in `to`
    for (uint32_t from = 0; from < before.size(); ++from) {
      uint32_t leaving = before[from] - std::min(before[from], where[s][from]);
      while (leaving > 0) {
        const uint32_t wanted = where[s][to] - std::min(where[s][to], before[to]) - num_arrived;
        const uint32_t count = std::min(leaving, wanted);
        if (count > 0) moves.push_back({s, from, to, count});
        leaving -= count;
        num_arrived += count;
        if (count < wanted || leaving == 0) continue;
        ++to;
        num_arrived = 0;
      }
    }
  }
  return moves;
}

uint32_t NumBlocks(const std::vector<BlockMove>& moves) {
  uint32_t sum = 0;
  for (const BlockMove& move : moves) sum += move.num_blocks;
  return sum;
}

}  // namespace fairlead::scheduling
