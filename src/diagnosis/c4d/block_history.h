// The latest blocks of iterations of a job: how long they took, and what each rank did in them by itself. For people:
// no detector reads it.
//
// Cost        a block: linear in its ranks; a question: linear in the blocks and ranks of the role. Memory: 8 bytes for
//             each rank and block, of kBlocksMax blocks of each role, fewer where the job has more than kRanksMany
//             ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/iteration_blocks.h"
#include "model/finding_proof.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class BlockHistory {
 public:
  static constexpr size_t kBlocksMax = 240;
  static constexpr size_t kRanksMany = 4096;

  explicit BlockHistory(size_t num_ranks) : num_kept_(num_ranks > kRanksMany ? kBlocksMax / 4 : kBlocksMax) {}

  // Of what is added from then on.
  void SetTime(SimTime now) { now_ = now; }
  // Args: role: a number for the ranks that do the same; samples: of some of them; num_pieces: blocks of different length
  // are told by this; > 0.
  void Add(uint32_t role, std::span<const BlockSample> samples, double seconds, double num_pieces);
  // Roles are others from now on.
  void Clear() { blocks_.clear(); }

  // Of the role, oldest first. Args: accused: ranks of the role that are compared with the others; may be empty.
  std::vector<model::IterationBlock> Of(uint32_t role, std::span<const model::RankId> accused) const;

 private:
  struct Own {
    uint32_t rank = 0;
    float seconds = 0;  // of a piece
  };
  struct Block {
    SimTime at;
    double seconds = 0;  // of a piece
    std::vector<Own> own;
  };

  size_t num_kept_;
  SimTime now_;
  std::map<uint32_t, std::deque<Block>> blocks_;  // [role]
};

}  // namespace fairlead::diagnosis::c4d
