// What an operator may set of the C4P master.
#pragma once

#include <cstdint>

#include "base/sim_time.h"
#include "base/status.h"
#include "traffic/c4p/link_health_tracker.h"
#include "traffic/c4p/loss_attribution.h"
#include "traffic/c4p/port_map.h"
#include "traffic/c4p/probe_plan.h"

namespace fairlead::traffic::c4p {

struct C4pOptions {
  // False: connections stay where the fabric's hash puts them; their paths are only found out, for policies that order
  // jobs.
  bool chooses_paths = true;

  // > 0. Longer: more missed heartbeats are forgiven, and what dead hosts held is blocked for longer.
  SimDuration lease_ttl = SimDuration(60'000'000'000);
  // > 0. At least as long as the pauses between calls in good days. Longer: our own pauses count more towards leases;
  // shorter: time passes more slowly than it does when calls are rare.
  SimDuration max_clock_step = SimDuration(5'000'000'000);

  // Greatest usage of a link over that of its siblings together. >= 1. Smaller: loads are more even, and move more often.
  double imbalance_limit = 1.3;
  // >= 0: for how long it has to be exceeded. Shorter: brief unevenness, as between the requests of one job, moves QPs.
  SimDuration imbalance_duration = SimDuration(10'000'000'000);
  // > 0: how often it is looked at. Its cost is that of all links.
  SimDuration imbalance_period = SimDuration(1'000'000'000);

  // > 0. Shorter: faults are seen sooner, for more probes.
  SimDuration probe_period = SimDuration(5'000'000'000);
  // In (0, 1): a link that probes go around is called lost when chance explains that with no more than this. Larger:
  // withdrawn links are noticed sooner, and healthy ones are suspected by chance.
  double absence_probability = 1e-6;
  // > 0: after which ports are asked for again. Shorter than a scan takes: ports are probed twice.
  SimDuration scan_timeout = SimDuration(10'000'000'000);
  // >= 1: of an address pair in an epoch, after which a queue pair goes without. k paths take k on average; with 32 k all
  // but one of 10^13 searches end well.
  uint32_t max_scan_ports = 4096;

  // > 0: how often the port of a queue pair is probed again. Routing can change and change back between two rounds of
  // probes, and ports that were probed meanwhile lead elsewhere than believed. Shorter: such queue pairs return to their
  // paths sooner, for more probes.
  SimDuration verify_period = SimDuration(60'000'000'000);

  // >= 1, and larger than every epoch that an earlier master of this fabric gave out: number of the start << 32, say.
  uint64_t epoch_base = 1;
  // What else the switches' hashes depend on: anything that changes when they are reconfigured.
  uint64_t hash_configuration = 0;

  PortMapOptions ports;
  LinkHealthOptions health;
  AttributionOptions attribution;
  ProbePlanOptions probes;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::c4p
