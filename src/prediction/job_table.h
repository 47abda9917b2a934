// Jobs and their loss curves as two CSV files: what `fairlead predict` reads and writes.
//
// jobs.csv     one line for each job. Required: job. Optional, 0 or empty where unknown: parameters, layers,
//              flop_per_sample, convolution_share, attention_share, recurrent_share, embedding_share, global_batch,
//              learning_rate, schedule (constant, drops or smooth), rate_drops (iterations, separated by semicolons),
//              adaptive and synchronous (0 or 1), samples_per_epoch, restarts, target_loss, total_iterations,
//              end_iteration (of a finished run: where training was over; empty: it never got there).
// curves.csv   one line for each epoch, in order within a job: job, iteration, loss, and optionally iteration_time_s.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "prediction/job_features.h"
#include "prediction/job_generator.h"

namespace fairlead::prediction {

struct JobTable {
  std::vector<JobRecord> jobs;    // in the order of jobs.csv
  std::vector<double> true_ends;  // [job] infinite where empty
  bool has_ends = false;          // jobs.csv has the column end_iteration
};

// A job without a line in curves.csv has no epochs. Errors: those of CsvReader; kInvalidArgument with file:line for a
// field that is no number, a job that is in jobs.csv twice, an epoch of a job that is not there.
Result<JobTable> LoadJobTable(const std::string& jobs_path, const std::string& curves_path);
// The same from streams; names replace the files in messages.
struct NamedStream {
  std::unique_ptr<std::istream> stream;
  std::string name;
};
Result<JobTable> ReadJobTable(NamedStream jobs, NamedStream curves);

// Generated jobs as a table.
JobTable ToJobTable(std::vector<GeneratedJob> jobs);

// The same as texts.
std::string JobsToCsv(const JobTable& table);
std::string CurvesToCsv(const JobTable& table);

}  // namespace fairlead::prediction
