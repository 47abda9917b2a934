// Who was late in the window that was judged last, and what is normal for the ranks?
//
// Method      of the candidates by own time (late_candidates.h) those are named with which another signal agrees: waits
//             by the time inside, or by starts. Ranks that have few of their like elsewhere wait for each other, so of
//             a host that is most of its stage idle host threads agree as well. Where waits tell nothing at all, own
//             time alone is enough if no report is missing. A window without candidates tells what is normal.
// Guarantees  what is learned, or named, waits until TakeSuspects() says that no path was slow.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "diagnosis/c4d/late_candidates.h"
#include "diagnosis/c4d/lateness_signals.h"
#include "diagnosis/c4d/rank_normals.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/slow_rank_watch.h"
#include "diagnosis/c4d/straggler_suspects.h"
#include "diagnosis/c4d/throttled_gpus.h"
#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class WindowVerdict {
 public:
  // Args: layout, must outlive this.
  WindowVerdict(const model::JobLayout& layout, const SlowOptions& options);

  // Judges a window; an earlier verdict that was not taken is dropped. Args: slow: by blocks of iterations, to tell
  // whether they are waited for; throttled: in the window. Returns: [rank] seconds by which it came late and made
  // others wait; 0: it did not.
  std::vector<double> Judge(StragglerWindow window, std::span<const SlowRank> slow, const ThrottledGpus& throttled);

  // Whether others were seen to wait for it in the latest window of which that can be seen, if it was slow then.
  bool IsWaitedFor(const model::Culprit& culprit) const { return !not_waited_for_.contains(culprit); }

  // Returns: whom the window shows, three at most, the worst first. Args: has_slow_path: then it shows no one, and
  // nothing is learned.
  std::vector<StragglerFigures> TakeSuspects(bool has_slow_path);

 private:
  struct Judged {
    StragglerWindow window;
    OwnLateness own;
    LatenessSignal blame;
    LatenessSignal lag;
  };
  // Until it is taken.
  struct Verdict {
    std::optional<Judged> healthy;  // to be learned from
    std::vector<StragglerFigures> suspects;
  };

  Judged JudgeSignals(StragglerWindow window) const;
  void NoteWaits(const Judged& judged, std::span<const SlowRank> slow);
  uint32_t CountAgreeing(const Judged& judged, const LateCandidate& candidate) const;
  StragglerFigures Describe(const Judged& judged, const LateCandidate& candidate, const ThrottledGpus& throttled) const;
  model::SubCause FindSubCause(const Judged& judged, const LateCandidate& candidate,
                               const ThrottledGpus& throttled) const;
  void Learn(const Judged& judged);

  const model::JobLayout& layout_;
  SlowOptions options_;
  RankNormals normals_;
  Verdict verdict_;
  std::set<model::Culprit> not_waited_for_;
};

}  // namespace fairlead::diagnosis::c4d
