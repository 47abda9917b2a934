// What the jobs of a run did and when, in a window of it: the raw material of timelines (report/run_timeline.h).
//
// Where a run is recorded every event is simulated: jumps end where the window begins (ContentionDomain).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/loss_cause.h"
#include "topology/fabric.h"

namespace fairlead::sim {

struct RecordingWindow {
  SimTime from;
  SimTime to;  // > from
  // Of spans and loads together; what comes later is counted, not kept.
  size_t max_events = 1'000'000;
};

enum class Activity : uint8_t {
  kIteration,
  kCompute,
  kPhase,  // of communication, from its start to the end of its last flow
};

// Clipped to the window. Activities that are still under way when the run ends are left out.
struct ActivitySpan {
  JobId job;
  Activity activity = Activity::kIteration;
  uint32_t phase = 0;      // of kPhase: index into RunRecording::phase_names
  uint64_t iteration = 0;  // how many the job had completed before
  SimTime from;
  SimTime to;
};

// The running phase of a job was slower than alone, mostly for one cause.
struct HeldUpSpan {
  JobId job;
  LossCause cause = LossCause::kNotAttributed;
  JobId culprit = {};  // valid where the cause is another job
  LinkId link = {};    // valid where a link has to do with it
  double missing = 0;  // mean share of its rate alone that it lacked for this cause, 0..1
  SimTime from;
  SimTime to;
};

// What a link of the network carries from then on, all jobs together.
struct LinkLoad {
  LinkId link;
  SimTime at;
  double bytes_per_s = 0;
};

struct RecordedLink {
  std::string name;
  double bytes_per_s = 0;  // raw capacity
};

// Spans of a job are in order of their ends, those that hold it up in order of time.
struct RunRecording {
  RecordingWindow window;
  std::vector<ActivitySpan> spans = {};
  std::vector<HeldUpSpan> held_up = {};
  // By link, then by time; of links that several jobs use, or on which one is held up.
  std::vector<LinkLoad> loads = {};
  std::map<JobId, std::vector<std::string>> phase_names = {};  // [phase]
  std::map<LinkId, RecordedLink> links = {};                   // those that held_up and loads name
  size_t num_dropped = 0;                                      // beyond max_events
};

// Filled by contention domains, which may be simulated to different instants. Cost: O(log(jobs + links)) a call.
class RunRecorder {
 public:
  // Args: fabric: of the run; outlives the recorder.
  RunRecorder(const RecordingWindow& window, const topology::Fabric& fabric) : fabric_(&fabric) {
    recording_.window = window;
  }

  const RecordingWindow& window() const { return recording_.window; }
  bool Covers(SimTime at) const { return at >= window().from && at < window().to; }

  // The rest of the window; parts outside are cut off. Compute that goes on where it was last added is one span.
  void AddActivity(ActivitySpan span);
  // The same cause that goes on is one span.
  void AddHeldUp(HeldUpSpan span);
  // What a job sends over a link from then on. Nothing is kept where it is what it was.
  void AddLoad(JobId job, const LinkLoad& load);
  bool FollowsLoadOf(LinkId link) const { return topology::IsNetwork(fabric_->tier(link)); }
  void NamePhases(JobId job, std::vector<std::string> names) { recording_.phase_names[job] = std::move(names); }
  bool HasNamed(JobId job) const { return recording_.phase_names.contains(job); }

  // Ends the recording.
  RunRecording Take();

 private:
  // Cuts the span; false where nothing is left.
  bool Clip(SimTime* from, SimTime* to) const;
  bool HasRoom();
  void AddUpLoads();
  void DescribeLinks();

  struct LoadOfJob {
    JobId job;
    LinkLoad load;
  };

  const topology::Fabric* fabric_;
  RunRecording recording_;
  std::map<JobId, size_t> last_compute_;  // index into spans
  std::map<JobId, size_t> last_held_up_;  // index into held_up
  std::vector<LoadOfJob> loads_;
  std::map<std::pair<JobId, LinkId>, size_t> last_load_;  // index into loads_
};

}  // namespace fairlead::sim
