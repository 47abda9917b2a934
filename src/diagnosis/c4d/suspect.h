// Suspicion of a detector in one window; the master confirms it or drops it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct Suspect {
  model::Syndrome syndrome = model::Syndrome::kCommHang;
  std::vector<model::Culprit> culprits;
  std::vector<model::Candidate> candidates;  // where it is not known which of them it is
  model::SubCause sub_cause = model::SubCause::kUnknown;
  std::vector<model::Evidence> evidence;
  double confidence = 0;      // 0..1
  double cost = -1;           // share of the iteration, < 0: not known
  double lateness = 1;        // of a late rank: share of the iteration, at most, for which it can have made others wait
  bool may_be_busy = false;   // the culprit may do something on purpose
  bool is_confirmed = false;  // no more windows are needed
  bool is_alone = false;      // nothing like it is healthy: it was compared with the past only
  bool is_uncounted = false;  // no recording with known faults has such a case
  bool is_idle = false;       // costs the job nothing: no finding by itself, but not health either
  std::string summary;        // one sentence for people
  // The operation that shows it; nothing where no single one does.
  model::CommunicatorId communicator;
  std::optional<model::OperationKind> operation;
  uint64_t sequence = 0;
};

}  // namespace fairlead::diagnosis::c4d
