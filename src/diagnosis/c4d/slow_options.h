// Parameters of the detectors of slow transfers and of stragglers. The defaults are ours: the paper publishes none.
#pragma once

#include <cstdint>

#include "base/sim_time.h"
#include "base/status.h"
#include "diagnosis/c4d/delay_matrix.h"

namespace fairlead::diagnosis::c4d {

struct SlowOptions {
  DelayMatrixOptions matrix;

  // Messages of a connection in a window, 1 or more. Higher: thin connections are never judged. Lower: their noise is.
  uint64_t messages_min = 30;
  // Least delay added to each message, unless it costs a connection at least busy_share_min of the time. Higher: only
  // what hurts. Lower: differences of fast transfers count.
  SimDuration added_delay_min = SimDuration(50'000);
  // Share of the window by which a connection must be busy for longer. Higher: slow connections with little traffic are
  // missed. Lower: what costs nothing is named.
  double busy_share_min = 0.01;
  // Connections that must be comparable before one can stand out among them, 3 or more. Higher: small jobs have to wait
  // for their own baseline. Lower: a median of few is trusted.
  uint32_t peers_min = 4;
  // Windows without a suspect that make what is normal for this job, 1 or more. Higher: steadier, later. Lower: one odd
  // window at the start is mistaken for normal.
  uint32_t baseline_windows = 2;

  // Operations on one communicator in a window, after the worst are left out, 1 or more. Higher: slow jobs
  // need longer windows. Lower: single late operations count.
  uint32_t operations_min = 4;
  // Share of the window that others must have waited for a straggler. Higher: only what hurts. Lower: names those with
  // hardly any lateness.
  double wait_share_min = 0.05;
  // Share of all lateness that the named ranks have to account for. Higher: more are named at once, or none. Lower:
  // only the worst of several is named.
  double blame_share_min = 0.6;
  // Least standard deviation of waits and lags, as a share of the window. Higher: weaker stragglers are missed in
  // steady jobs. Lower: differences too small to matter look significant there.
  double wait_sigma_floor = 0.005;

  // Errors: kOutOfRange, naming the field.
  Status Validate() const;
};

}  // namespace fairlead::diagnosis::c4d
