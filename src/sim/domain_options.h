// How a contention domain is simulated.
#pragma once

#include "base/ids.h"

namespace fairlead::sim {

class CarriedAccount;
class CongestionPoints;
class RunRecorder;

struct DomainOptions {
  bool fast_forward = true;
  // Beside exact periods, go on at mean speeds once these have settled; needs fast_forward.
  bool extrapolate = false;
  // Flows that the network can't tell apart are simulated as one: exact. Not beside `congestion`, which counts queue
  // pairs one by one.
  bool aggregates = true;
  // Keeps the account of delay. Needs the jobs' `solo` and healthy_capacities.
  bool follows_delays = false;
  // [link] bytes/s of payload when nothing is broken; outlives the domain.
  const IdVector<LinkId, double>* healthy_capacities = nullptr;
  // Full links lose what congestion control leaves unused (congestion_loss.h). Null: they lose nothing. Outlives the
  // domain.
  CongestionPoints* congestion = nullptr;
  // Books bytes on paths that flows leave by themselves. Null: nobody counts. Outlives the domain.
  CarriedAccount* carried = nullptr;
  // Learns what jobs do in its window, where nothing is skipped. Null: nobody asks. Outlives the domain.
  RunRecorder* recorder = nullptr;
};

}  // namespace fairlead::sim
