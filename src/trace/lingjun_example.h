// Synthetic job.csv, worker.csv and topo.csv of the Lingjun data set's shape, with every trap planted: for tests, as
// the files themselves are not ours to ship.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "trace/cleaning_report.h"
#include "trace/trace.h"

namespace fairlead::trace {

struct LingjunExample {
  std::string jobs;
  std::string workers;
  std::string topology;
  // What an importer with default options must make of it, by submission and id.
  std::vector<TraceJob> expected;
  // Rows planted per trap.
  CleaningReport planted;
};

// Args: num_jobs good jobs, and one to a few rows for each trap. Same seed, same files.
LingjunExample MakeLingjunExample(size_t num_jobs, uint64_t seed);

// Parts, for tests that need one row. Times are in the form of the files; empty ones stay empty.
struct LingjunJobRow {
  std::string id, job_name, model, status, is_deleted = "0";
  std::string submitted, running, stopped, finished, created;
};
std::string LingjunJobHeader();
std::string RenderRow(const LingjunJobRow& row);
struct LingjunPodRow {
  std::string job_name, host_ip, created, running, finished;
  std::string resources;  // JSON, not yet quoted
};
std::string LingjunPodHeader();
std::string RenderRow(const LingjunPodRow& row);

// A worker.csv of `num_rows` pods of `num_jobs` jobs that is made while it is read: its text is never in memory.
std::unique_ptr<std::istream> MakeEndlessWorkers(uint64_t num_rows, uint64_t num_jobs);

}  // namespace fairlead::trace
