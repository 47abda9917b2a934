// Which rank, or host, costs the iteration time by what it does itself, and how much?
//
// Problem     ranks differ by nature and by chance, all slow down together, some tell nothing, and a GPU may be slow
//             for some seconds of each minute. What counts is what it costs the job.
// Notation    own: seconds by which a rank did something itself in a block;  T: length of the block, which is of
//             consecutive blocks of iteration_blocks.h, pieces here, and lasts some seconds: of fewer iterations when
//             they are slow
//             x: own beyond what is usual for the rank, less what all of its role have in common
//             role: ranks of the same stage of their pipelines
// Method      1. usual for a rank is its median ratio to its role in the first blocks, kRatioMax at most; in roles of
//             less than kRoleMin ranks its own median, kRatioMax times the least in its role at most, and the common
//             part is the lower median over the job;
//             2. a block counts once all of the role that report have reported it, or most, and it is past;
//             3. the evidence (slow_evidence.h) of a rank rises if x less the margin, a share of T, exceeds that of all
//             others in its role, or of its own past in small ones. Ranks that have been slow of late do not count as
//             others, unless most have: several that are slow at once hide each other. Hosts likewise: most of their
//             ranks have to be slow; of two hosts each is compared with its own past, less what both have in common;
//             4. slow is who has evidence beyond the threshold of a false alarm rate of kFalseAlarms a job,
//             whose mean x is at least cost_min of T, surely beyond the margin, and has been so for some blocks and
//             seconds; of a host, unless one rank of it is much slower than most: the others wait for that one;
//             5. cost is the mean of x beyond the greatest x of those that are not slow: what the job would
//             gain.
// Cost        O(ranks log ranks) a block, O(1) an output.
// Guarantees  relabelling relabels; slowness of all by one factor names none; one stall names none; nothing is
//             forgotten between spells of slowness.
// Limits      a rank that is slower than its like by less than kRatioMax from the beginning is as ever. Where no other
//             rank does the same, one that was slow from the beginning is only compared with other stages.
// Size        over 400 lines: five steps on what is usual for ranks, hosts and roles. What can do without that is in
//             slow_evidence.h, iteration_blocks.h and block_history.h.
// Reference   docs/papers/c4.md, "Slow ranks".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "diagnosis/c4d/block_history.h"
#include "diagnosis/c4d/iteration_blocks.h"
#include "diagnosis/c4d/slow_evidence.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct SlowRank {
  HostId host;
  model::RankId rank;  // invalid: the host
  std::vector<model::RankId> ranks;
  double share = 0;       // mean of x over T since it began
  double cost = 0;        // share of T that the job would gain
  double host_share = 0;  // of x, before operations were enqueued
  double sureness = 0;    // decades of evidence beyond the threshold
  double growth = 0;      // of T since before it began; 0: not known
};

class SlowRankWatch {
 public:
  // Args: layout, must outlive this; margin: share of T within which ranks are alike.
  explicit SlowRankWatch(const model::JobLayout& layout, double margin = kMargin);

  IterationBlocks& blocks() { return blocks_; }
  BlockHistory& history() { return history_; }
  // Blocks of the role of these ranks, or of the first rank where there are none.
  std::vector<model::IterationBlock> BlocksOf(std::span<const model::RankId> ranks) const;
  // Judges what was added since. Args: stages [rank]: those of equal number do the same.
  void Judge(const std::vector<uint32_t>& stages);
  // Likewise blocks that were cut elsewhere; those of equal index are the same on all ranks.
  void Judge(const std::vector<uint32_t>& stages, const std::vector<BlockSample>& samples);
  // The greatest share first; sixteen at most.
  std::vector<SlowRank> Slow() const;
  // Where no two ranks do the same: a rank slower than other stages, now and for as long as can be told. It may have
  // more to do (slow_stage.h). Neither cost nor evidence is known.
  std::optional<SlowRank> SlowestStage() const;
  // By which share blocks take longer than the first ones; nothing: not known yet.
  std::optional<double> Growth() const;
  // Length of a block; 0: not known.
  double BlockSeconds() const;
  // Whether it is known where the blocks of the rank end.
  bool IsWatched(size_t rank) const { return blocks_.IsKnown(rank); }

 private:
  static constexpr double kMargin = 0.02;
  static constexpr size_t kRoleMin = 4;
  static constexpr size_t kBaselineMin = 8;
  static constexpr size_t kBaselineMax = 64;
  static constexpr size_t kRecent = 4;
  // What is watched: a rank, or the ranks of a role on one host.
  struct Element {
    SlowEvidence evidence;
    double hit_rate = 0;   // of late
    double slow_rate = 0;  // of late: of blocks in which it was slow
    // Since the evidence began to rise.
    uint64_t blocks = 0;
    uint64_t slow_blocks = 0;
    double slow_seconds = 0;
    double seconds = 0;
    double pieces = 0;
    double sum = 0;  // of x
    double sum_2 = 0;
    double cost = 0;
    double host_seconds = 0;
  };
  // A block of before.
  struct PastBlock {
    double usual = 0;         // ratio to the role, or seconds of a piece where there are few alike
    double host_seconds = 0;  // by piece, before operations were enqueued
    double share = 0;         // x over T
    double pieces = 1;
    double span = 0;  // T by piece
  };
  // With its past.
  struct Watched : Element {
    std::vector<double> usual;
    std::vector<double> usual_host;  // host seconds of the same blocks
    std::vector<PastBlock> first;    // until the baseline is known
    std::vector<PastBlock> past;     // where there are few alike
    // While it may be slow: usual only if it turns out to have been chance.
    std::vector<PastBlock> unsure;
    std::optional<double> baseline;
    double usual_host_seconds = 0;  // by piece; 0: not known either
    double latest_ratio = 0;        // own over its baseline, where there are few alike
  };
  struct Rank : Watched {
    uint64_t latest_index = 0;
    bool has_reported = false;
    // Of the block under way: the sum of the pieces that it has reported.
    BlockSample under_way;
    uint32_t num_pieces = 0;
    // Own time over T in the latest blocks, the oldest first; where no other rank does the same.
    std::vector<double> shares;
  };
  struct Role {
    std::vector<uint32_t> ranks;
    std::map<HostId, Watched> hosts;
    std::map<uint64_t, std::vector<BlockSample>> open;  // pieces, by index
    std::vector<double> usual_seconds;                  // T of the first blocks, by piece
    std::vector<double> recent_seconds;                 // of the latest
    uint64_t num_judged = 0;
    uint64_t next = 0;          // pieces below have been judged, or are part of the block under way
    uint64_t pieces_usual = 1;  // of a block, when it began
    // Of the block under way.
    uint32_t num_pieces = 0;
    double seconds = 0;
  };
  // A block of a role.
  struct Block {
    std::vector<BlockSample> samples;
    double pieces = 1;
    std::vector<double> x;       // [sample]
    std::vector<double> host_x;  // [sample] likewise, before operations were enqueued
    double seconds = 0;          // T
    bool is_known = false;       // whether usual values are
  };

  void MakeRoles(const std::vector<uint32_t>& stages);
  void JudgeDue(Role& role);
  bool IsDue(const Role& role, uint64_t index, size_t num_reported) const;
  void AddPiece(Role& role, const std::vector<BlockSample>& samples);
  void JudgeBlock(Role& role, std::vector<BlockSample> samples, uint32_t num_pieces);
  // The ranks of these samples.
  std::vector<Watched*> WatchedOf(const Block& block);
  void CompareWithRole(Block& block);
  // Args: watched [sample]; shared: by which factor all take longer than usual.
  static void NoteRatios(const std::vector<Watched*>& watched, const Block& block);
  static void CompareWithPast(const std::vector<Watched*>& watched, double shared, Block* block);
  double SharedFactor() const;
  void AddToRanks(Role& role, const Block& block);
  void AddToHosts(Role& role, const Block& block);
  void AddToTwoHosts(Role& role, const Block& block);
  static std::vector<bool> AreAlike(const std::vector<Element*>& elements);
  // Args: x, host_x [element]: of the block.
  void AddByOthers(const std::vector<Element*>& elements, const std::vector<double>& x,
                   const std::vector<double>& host_x, const Block& block) const;
  void AddByPast(const std::vector<Watched*>& watched, const Block& block) const;
  void AddTo(Element& element, bool is_hit, double hit_chance, double rank_share, double x, double others,
             double host_x, const Block& block) const;
  // Args: is_by_past: usual are seconds of a piece; false: ratios to the median of the samples.
  static void Learn(const std::vector<Watched*>& watched, const Block& block, bool is_by_past);
  static void BeginPast(const std::vector<Watched*>& fresh);
  static void LimitBaselines(const std::vector<Watched*>& watched);
  bool IsSlow(const Element& element, const Role& role) const;
  double Threshold(const Role& role) const;
  static void NoteShare(const BlockSample& sample, double seconds, Rank* rank);
  SlowRank Describe(const Element& element, const Role& role) const;
  // Whether one rank explains that its host is slow. Args: share: of the host.
  bool HasCause(const Role& role, HostId host, double share) const;

  const model::JobLayout& layout_;
  double margin_;
  IterationBlocks blocks_;
  BlockHistory history_;
  std::vector<Rank> ranks_;
  std::vector<uint32_t> stages_;
  std::vector<Role> roles_;
  std::vector<uint32_t> role_of_;  // [rank]
};

}  // namespace fairlead::diagnosis::c4d
