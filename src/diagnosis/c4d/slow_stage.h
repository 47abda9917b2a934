// Which stage is slower than its like, in a pipeline that has each stage once?
//
// Problem     where no other rank does the same, a rank is compared with its past. A GPU that was slow from the start
//             has no better past.
// Notation    share: own time of a stage, of the time that it takes in all
// Method      layers are dealt out evenly, so stages between the first and the last (embeddings, encoders, heads)
//             usually do the same. One that has kStandsOut times the share of the next of these, and more than any
//             stage, is slow, or it has more to do: that can't be told, so it is to be doubted.
// Guarantees  names one at most; none where less than kInnerMin stages are neither the first nor the last, nor the
//             first and the last themselves; all slower by one factor name none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace fairlead::diagnosis::c4d {

struct StageShare {
  uint32_t stage = 0;  // its number along the pipeline
  uint32_t rank = 0;
  double share = 0;
};

struct SlowStage {
  uint32_t rank = 0;
  double beyond = 0;  // its share beyond that of the next of its like
};

// Args: stages, each once, in any order.
std::optional<SlowStage> FindSlowStage(std::vector<StageShare> stages);

}  // namespace fairlead::diagnosis::c4d
