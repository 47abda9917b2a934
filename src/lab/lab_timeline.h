// A recorded run in a lab as a timeline for Perfetto (https://ui.perfetto.dev) and chrome://tracing.
//
//   process "lab"      tracks: the run (start, warm-up, measured time), what the controller noted (instants) and found
//                      (slices), a slice for each cable that was cut or slow and for each process that was stopped
//   process "links"    a counter for each direction of a cable that carried anything: Gb/s at the fabric's speed
//   process of a job   two tracks of each worker: its iterations, divided into compute and exposed waiting, and its
//                      communication phases
//   arrows             from a cable or a process that went bad to the first late iteration of each job that it delays
//
// Late        took more than 1.25 of the median of its worker's last 20 iterations that ended before, at least 3.
// Uses        a job uses the cables of its hosts' NICs that have one, and what the controller says that its connections
//             pass; without a controller it is not known which of the links between switches these are.
// Format      as run_timeline.h; `ts` and `dur` in microseconds of real time since the run's begin, "origin_unix_s".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lab/lab_recording.h"
#include "lab/lab_state.h"

namespace fairlead::lab {

struct LabTimeline {
  std::string text;
  uint64_t num_iterations_left_out = 0;  // the oldest of each worker
};

// Args: state: of the lab of the run; num_events_max: about; workers share it. More: larger, 150 bytes each.
// Cost: O(events).
LabTimeline RenderLabTimeline(const LabState& state, const LabRecording& recording, size_t num_events_max = 1'000'000);

}  // namespace fairlead::lab
