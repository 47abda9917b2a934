// The same jobs on a real Slurm in a lab, twice: as Slurm does it by itself, and with Fairlead.
//
// Problem     what are sizes by AITurbo, paths and priorities, and the replacement of a broken host worth to the
//             owners of jobs, all together, with all real: Slurm, processes, connections, agents, controller?
// Method      a lab with Slurm. First its own way: each job has the hosts that its owner asks for, and backfill. Then
//             controller and agents start, and the same jobs come at the same times, with a range of sizes. In both
//             runs a rank of one job hangs from the same time on, as if its GPU had. What is told is what squeue
//             showed, and what trainers have recorded.
// Plain       a job that hangs in a collective hangs until somebody looks: Slurm sees its processes. When all other
//             jobs have ended the tour waits a little more and cancels it. Its completion time is then at least that,
//             and the mean too low: in favour of plain Slurm, as is that it may use the host that is Fairlead's
//             spare.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_session.h"
#include "lab/slurm_files.h"
#include "report/document.h"
#include "report/json_value.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct SlurmTourOptions {
  LabSessionOptions session;
  SlurmPieces pieces;
  std::string frozen_job;   // empty: the first one of the scenario
  double freeze_at_s = 25;  // after the first submission, or as soon afterwards as the job has settled on several hosts
  double hang_wait_s = 10;  // for the job that hangs, when all others have ended
  double patience_s = 240;  // of one run; jobs that have not ended by then never do
};

// A job from one start to the end of that run. Times are seconds since the first submission.
struct SlurmTourSpan {
  std::vector<std::string> hosts;
  double begin_s = 0;
  double end_s = 0;

  friend bool operator==(const SlurmTourSpan&, const SlurmTourSpan&) = default;
};

struct SlurmTourJob {
  std::string name;
  uint32_t number = 0;  // Slurm's
  uint32_t asked = 0;   // hosts, as its owner asks where sizes are fixed
  uint32_t least = 0;   // of the range
  uint32_t most = 0;
  double submitted_s = 0;
  std::optional<double> ended_s{};  // unset: it never did
  std::string state;                // the last one that Slurm showed
  std::vector<SlurmTourSpan> spans;
};

// What became of the frozen rank.
struct SlurmTourFreeze {
  std::string job;
  std::string host;
  double at_s = 0;
  std::optional<double> found_s{};  // seconds since the freeze, as the others
  std::optional<double> isolated_s{};
  std::optional<double> back_s{};  // until the first iteration of the next run has ended
  uint64_t lost_iterations = 0;    // done again after the checkpoint
  std::string finding;             // the controller's words
};

struct SlurmTourRun {
  bool has_fairlead = false;
  std::vector<SlurmTourJob> jobs;
  std::optional<SlurmTourFreeze> freeze{};
  std::vector<std::string> wrong_findings;  // about anything but the frozen host
  double length_s = 0;

  // Seconds from submission to end; of a job that never ended, to the end of the run.
  double CompletionSeconds(const SlurmTourJob& job) const;
  double MeanCompletionSeconds() const;
  bool HaveAllEnded() const;
  uint32_t NumRestarts() const;
};

struct SlurmTour {
  std::string title;
  std::vector<std::string> hosts;
  std::string spare;
  SlurmTourRun plain;
  SlurmTourRun fairlead;
  double wall_s = 0;

  // With Fairlead all jobs have ended, and the frozen host and nothing else was blamed and isolated.
  bool IsAllRight() const;
};

// Args: what: for people; fraction: of the tour.
using SlurmTourProgress = std::function<void(const std::string& what, double fraction)>;

// Brings a lab up with the fabric of the scenario, does both runs, and takes it down. The last host of the fabric is
// the spare. Args: file: of the scenario; its jobs have a range of sizes (`allocation`) and a number of iterations.
// Errors: kInvalidArgument: they have not; those of LabSession, StartSlurm() and StartServices(); kCancelled: `stop`.
// Nothing is left in any case.
Result<SlurmTour> RunSlurmTour(const std::string& file, const sim::Scenario& scenario, const SlurmTourOptions& options,
                               const SlurmTourProgress& progress, const std::atomic<bool>& stop);

report::Document RenderSlurmTour(const SlurmTour& tour);
report::Json SlurmTourJson(const SlurmTour& tour);
std::string SlurmTourPage(const SlurmTour& tour);

}  // namespace fairlead::lab
