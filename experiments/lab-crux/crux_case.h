// What runs of a case say of its jobs: mean iterations by model, and how much of their time GPUs compute.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lab/lab_run.h"
#include "lab/lab_workload.h"

namespace fairlead::experiments::lab_crux {

struct CaseJob {
  std::string model;  // "BERT": jobs that are alike
  uint32_t num_gpus = 0;
  double compute_s = 0;  // of an iteration
};

// [job] Args: jobs named "bert-0", "gpt".
std::vector<CaseJob> DescribeJobs(const std::vector<lab::LabJob>& jobs);

// [job] mean iteration; 0: it ended none.
std::vector<double> MeanIterations(const lab::LabRunResult& run);

// Share of their time that all GPUs of the jobs compute. Args: iteration_s [job], 0 for a stalled job.
double Utilization(std::span<const CaseJob> jobs, std::span<const double> iteration_s);

// By model: mean over its jobs; infinite where one of them is stalled.
std::map<std::string, double> IterationsByModel(std::span<const CaseJob> jobs, std::span<const double> iteration_s);

}  // namespace fairlead::experiments::lab_crux
