// What a simulation leaves behind: turns the states and accounts of its jobs and links into a RunResult.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "sim/congestion_totals.h"
#include "sim/delay_account.h"
#include "sim/job_record.h"
#include "sim/run_result.h"
#include "sim/timeline.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// What links have carried since the start.
struct CarriedBytes {
  IdVector<LinkId, double> total;
  IdVector<LinkId, std::vector<float>> bins;  // of the timeline; empty where nothing was carried
};

// Borrowed from a simulation whose running jobs have settled their bytes and closed their accounts.
struct RunAccounts {
  const topology::Fabric& fabric;
  const std::map<JobId, JobRecord>& jobs;
  const std::vector<JobId>& running;
  const DelayAccount& delays;
  const BinnedSum& busy_gpu_seconds;
  const CarriedBytes& carried;
  SimTime end;                     // which may come before the one that was asked for
  uint32_t num_bins = 0;           // of the timeline that was asked for
  uint32_t num_hottest_links = 0;  // that get a load over time
  bool allocates = false;          // an allocation policy resizes jobs
  // Nothing: congestion control is not modelled.
  const IdVector<LinkId, LinkQueue>* queues = nullptr;
  bool migrates = false;  // workers may change hosts: RunResult::migration is to be completed
};

// Fills in all that is about jobs, links and time. Args: result: with `simulated_s`.
void CollectResult(const RunAccounts& run, RunResult* result);

}  // namespace fairlead::sim
