// Which elements of the network are at fault for the slow transfers of a window, and what is said of them?
//
// Method      NetworkElements finds the common elements of slow pairs; an element has to pass z_line, a single
//             connection z_point. The element that explains most comes first, then the slowest. What passes a slow one,
//             or is acknowledged through it, is not slow or lossy as well; a slow connection explains losses only. Of
//             single connections less than twice as slow as before also what they take beyond their like has to pass
//             the least effect. Beside a slow element or a late rank, further slow ones have to pass z by the amount by
//             which pairs without a slow element are faster, and losses beside a slow element count only if those are
//             as ever. Why: slow_transfer_detector.h, steps 5 and 6.
// Cost        O(pairs) per element.
// Guarantees  has no state but what can be at fault in the job; four suspects at most, else none.
#pragma once

#include <span>
#include <vector>

#include "diagnosis/c4d/pair_delays.h"
#include "diagnosis/c4d/slow_elements.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// The pairs of a window.
struct PairsOfWindow {
  std::span<const PairDelay> pairs;  // ascending by (source, destination, plane)
  double sigma = 0;                  // standard deviation of x where nothing is slow
  double seconds = 0;                // length; 0: not known
  bool has_late_rank = false;        // for which all waited
};

class SlowPathSuspects {
 public:
  // Args: layout, must outlive this; names: for texts.
  SlowPathSuspects(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names);

  // Returns: one suspect per element at fault, slow ones first.
  std::vector<Suspect> Find(const PairsOfWindow& window) const;

 private:
  // Medians over what an element makes slow.
  struct ElementDelay {
    double x = 0;
    double added_seconds = 0;
    double added_busy = 0;
    double uneven = 0;
    double z = 0;
    double z_min = 0;
    double beyond_like = 0;
    double beyond_like_min = 0;

    bool is_slow() const { return z >= z_min && beyond_like >= beyond_like_min; }
  };
  struct JudgedElement {
    SlowElement element;
    ElementDelay delay;
  };

  // What explains slow pairs: that which explains most first, and of what explains as much the slowest.
  std::vector<JudgedElement> JudgeElements(const PairsOfWindow& window) const;
  ElementDelay DelayOf(const SlowElement& element, std::span<const PairDelay> pairs, double sigma) const;
  // Elements that are slow, not by another one of these. Delays of those that have to stand out from more are judged
  // anew, in `elements`: what is not slow then may be lossy.
  std::vector<JudgedElement> FindSlow(const PairsOfWindow& window, std::span<JudgedElement> elements) const;
  // Elements that lose messages, not by one of these slow ones.
  std::vector<JudgedElement> FindLossy(const PairsOfWindow& window, std::span<const JudgedElement> elements,
                                       std::span<const model::Culprit> slow) const;
  // Whether all that it makes slow passes one of these.
  bool IsExplained(const SlowElement& element, std::span<const PairDelay> pairs,
                   std::span<const model::Culprit> by) const;
  // By how much transfers that pass none of these are faster than normal: a standard deviation.
  double SpreadBeside(std::span<const PairDelay> pairs, std::span<const model::Culprit> slow) const;
  Suspect MakeSuspect(const JudgedElement& judged, double window_seconds) const;

  const model::JobLayout& layout_;
  const SlowOptions options_;
  const model::PlaceNames names_;
  const NetworkElements elements_;
};

}  // namespace fairlead::diagnosis::c4d
