// What is said of a rank or host that keeps others waiting: why, how sure that is, what it costs, in a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diagnosis/c4d/slow_rank_watch.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// Who is meant, in its most specific form.
model::Culprit CulpritOf(const model::JobLayout& layout, const SlowRank& slow);

// What a window showed of a candidate.
struct StragglerFigures {
  model::Culprit culprit;
  model::SubCause sub_cause = model::SubCause::kUnknown;
  double own_share = 0;       // of all own time in excess
  double own_percent = 0;     // of the window, of the worst rank
  double blame_percent = 0;   // likewise
  double lag_percent = 0;     // likewise
  uint32_t num_agreeing = 0;  // signals beside own time
};

// Has no state: layout and names are those of the job.
class StragglerSuspects {
 public:
  // Args: layout, must outlive this.
  StragglerSuspects(const model::JobLayout& layout, model::PlaceNames names);

  // Of one that is slow by the evidence of blocks of iterations; confirmed. Args: is_throttled: clocks of its GPU were
  // down; load: how many times as much as its like it receives to work on (received_load.h).
  Suspect ByOwnTime(const SlowRank& slow, bool is_throttled, double load) const;
  // Likewise, of one that what it receives waits for.
  Suspect ByArrivals(const SlowRank& slow, bool is_throttled, double load) const;
  // Of one that is slower than other stages of its pipeline, which may have less to do.
  Suspect ByStage(const SlowRank& slow, bool is_throttled) const;
  // Of one that a single window shows.
  Suspect ByWindow(const StragglerFigures& figures) const;

 private:
  // What does not depend on how it was found.
  Suspect Name(const SlowRank& slow) const;
  // What it has received may take that much longer, if that is all that it does.
  void WeighLoad(const SlowRank& slow, double load, Suspect* suspect) const;
  // Args: share: of the time, in which the others wait.
  std::string SentenceOf(const Suspect& suspect, double share) const;
  std::string SentenceOf(const Suspect& suspect, double share, std::string_view cause) const;

  const model::JobLayout& layout_;
  model::PlaceNames names_;
};

}  // namespace fairlead::diagnosis::c4d
