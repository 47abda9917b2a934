// Pollux-like: sizes that make the whole cluster's goodput largest, with a fair share for each.
//
// Notation     g(k) -> goodput[k], or 1 / T(k) where none is given, or k while no T of the job is known;  fair size =
//              GPUs / jobs, within the job's sizes. x_j = g(k_j) / g(fair_j) + 1e-3, times max(age - 30 restarts, 0) /
//              (age + 30) if its size changes (age in s).
// Problem      maximise the power mean (mean_j x_j^-1)^-1: least for the job that is worst off.
//              A job starts on one GPU, and has at most twice of what it has had.
// Method       1. running jobs keep their sizes while they fit  2. the larger size with which the sum of 1 / x_j falls
//              most per GPU
//              3. seeded local search: a pair of jobs, any smaller size for one, the best that then fits for the other,
//                 kept if the sum does not grow.
// Cost         O((units + swaps) (sizes + log jobs)); swaps = 20 per job, at most 20,000.
// Differs      the publication searches placements with a genetic algorithm (100 x 100 every 60 s) and lets each job
//              choose its batch; ours searches sizes, and batches are the caller's: where jobs choose theirs, T(k)
//              is that of the best batch.
// Reference    Qiao et al., Pollux, OSDI 2021, section 4.2.
#pragma once

#include <memory>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::pollux {

struct PolluxOptions {
  double round_s = 60;
  // Above 0: a job starts on one GPU, and may have twice of what it has had.
  double most_growth = 1;
  double most_gpus = 64;  // of a job; lower: fewer GPUs for jobs that scale
  uint64_t seed = 1;
};

std::unique_ptr<AllocationPolicy> CreatePollux(const PolluxOptions& options = {});

}  // namespace fairlead::scheduling::pollux
