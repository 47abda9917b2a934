// What an operator may set of the C4D master. All defaults are ours: the paper publishes none (spec, section 4.3).
#pragma once

#include <cstdint>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::diagnosis::c4d {

// When a stall is a hang. The hang time of an operation is its suspect time plus `confirm_for`: 18 s, and 16 s in a job
// that has shown for a minute that nobody waits for long.
struct HangOptions {
  // Suspect time, > 0. Longer: long pauses of one rank (a checkpoint) are forgiven; shorter: hangs are seen sooner.
  SimDuration suspect_after = SimDuration(10'000'000'000);
  // Suspect time in median durations of operations of that kind and size on that communicator, if that is longer.
  // >= 1. Larger: operations that usually take long may take longer still.
  double suspect_durations = 10;
  // Of the suspect time, this share at least holds for a communicator whose rhythm is known and that never kept anybody
  // waiting for long (wait_history.h), 0 .. 1. Larger: first pauses of a job may be longer; smaller: hangs of steady
  // jobs are seen sooner.
  double rhythmic_share = 0.8;
  // Its suspect time is that many of its longest waits, if that is longer. >= 1. Larger: a wait may exceed those before
  // by more.
  double rhythmic_waits = 3;
  // >= 0. The same verdict has to hold for that much more. Longer: fewer verdicts about what resolves itself.
  SimDuration confirm_for = SimDuration(8'000'000'000);
  // Rank 0, and ranks that are the first of each of their groups, often save or evaluate while the others wait. That
  // such a rank has not come, and its host thread has not enqueued anything either, is only watched until it has lasted
  // for that much more than the suspect time, >= 0. Longer: slower work of such ranks is forgiven; shorter: their hangs
  // are acted upon sooner. How long it took before is known: they get twice that.
  SimDuration leader_patience = SimDuration(60'000'000'000);
  // A communicator is warm after that many operations. More: the patience for first operations is needed for longer.
  uint64_t warm_up_operations = 2;
  // Suspect time of a cold communicator over that of a warm one, >= 1. Larger: compilation, lazy connects and the first
  // checkpoint may take longer; smaller: hangs of first operations are seen sooner.
  int64_t warm_up_factor = 6;
  // A verdict has to be gone for that long before its finding is cleared, >= 0. Longer: findings flap less.
  SimDuration clear_after = SimDuration(3'000'000'000);
};

// When a rank is gone.
struct SilenceOptions {
  // How often agents report, > 0.
  SimDuration report_period = SimDuration(1'000'000'000);
  // A host is silent after that many periods, >= 1, and after `silent_after`, > 0. More: lost reports are forgiven.
  int64_t missed_reports = 3;
  SimDuration silent_after = SimDuration(5'000'000'000);
  // A job that moves that long after a host fell silent does without it: it is the agent that is away. > 0. Longer:
  // operations under way when a host died may take longer to stop; shorter: lost agents are distinguished from lost
  // hosts sooner.
  SimDuration went_on_after = SimDuration(10'000'000'000);
  // Operations count as completed without ranks that have reported nothing for that long, > 0. Longer: gaps in reports
  // cost fewer instants; shorter: a rank without telemetry hides the others for less time.
  SimDuration without_after = SimDuration(10'000'000'000);
  // Its host is unreachable after that much more, >= 0. Longer: agents may restart unnoticed.
  SimDuration confirm_for = SimDuration(5'000'000'000);
  // More silent hosts than that share of the hosts are a fault of our own collection, 0..1. Larger: outages of whole
  // leaves of the management network are mistaken for faults of hosts.
  double max_silent_share = 0.5;
  // Whether ranks that a signal or a debugger has stopped are named, without recommending to act on them. False: they
  // excuse the hang that they cause.
  bool report_stopped = true;
};

// When something slow is a finding: in `bad_windows` of the last `windows`.
struct WindowOptions {
  // > 0, and at least `operations` operations on the median communicator. Longer: less noise, later findings.
  SimDuration length = SimDuration(10'000'000'000);
  uint64_t operations = 10;
  // A window without enough operations ends after that many lengths, and counts only if anything ran. >= 1.
  int64_t max_lengths = 6;
  // 1 <= bad_windows <= windows <= 64. Larger share: fewer false findings, later true ones.
  uint32_t bad_windows = 3;
  uint32_t windows = 5;
};

struct C4dOptions {
  HangOptions hang;
  SilenceOptions silence;
  WindowOptions window;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::diagnosis::c4d
