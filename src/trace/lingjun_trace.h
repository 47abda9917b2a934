// Importer of the jobs of the Lingjun 2023 data set: job.csv and worker.csv, with topo.csv where hosts should be
// checked.
//
//     job.csv     one row per job: job_name, model, status, times of submission, start, stop and end; 98 of its 130
//                 columns are empty and have no name
//     worker.csv  one row per pod: job_name, host_ip, times, and RES, a JSON object in one quoted field
//
// Run time = finished (else stopped) - running; submission = submitted; GPUs = sum over the job's pods. Columns are
// found by name. What is odd is counted in a CleaningReport and handled by one rule per trap (cleaning_report.h);
// nothing is repaired silently. Both files are read row by row: memory grows with the number of jobs, not with that of
// pods.
//
// Reference: repository alibaba/alibaba-lingjun-dataset-2023 (Apache-2.0); Cao et al., Crux, SIGCOMM 2024.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>

#include "base/status.h"
#include "trace/cleaning_report.h"
#include "trace/trace.h"

namespace fairlead::trace {

struct LingjunImportOptions {
  // Jobs without an end: dropped, or given the latest end of the files.
  bool keep_still_running = false;
  // Jobs in worker.csv only: kept with the times of their pods if they have any, or dropped.
  bool keep_pods_without_job = true;
  bool drop_pods_without_duration = false;
  // Least run time, s, >= 0. The files count whole minutes, so that a quarter of the jobs has 0 or 1; 60 makes every
  // job last.
  double min_duration_s = 0;
  // Called now and then with the share (0..1) of the input that is read; returns whether to continue.
  std::function<bool(double fraction)> progress = {};
};

struct LingjunImport {
  // Ids are those of job.csv, or the job_name for jobs that are only in worker.csv. Second 0 is the midnight (of the
  // files' clock) before the first submission.
  Trace trace;
  CleaningReport report;
};

struct LingjunFiles {
  std::string jobs;
  std::string workers;
  std::string topology;  // empty: hosts are not checked
};

// Errors: kNotFound; kInvalidArgument with file:line for missing columns and malformed CSV, and when no job is left;
// kCancelled when `progress` says stop. Cost: one pass over each file.
Result<LingjunImport> ImportLingjun(const LingjunFiles& files, const LingjunImportOptions& options = {});

// The same for streams, named "job.csv", "worker.csv" and "topo.csv" in messages; `topology` may be null.
struct LingjunStreams {
  std::unique_ptr<std::istream> jobs;
  std::unique_ptr<std::istream> workers;
  std::unique_ptr<std::istream> topology;
};
Result<LingjunImport> ImportLingjun(LingjunStreams streams, const LingjunImportOptions& options = {});

}  // namespace fairlead::trace
