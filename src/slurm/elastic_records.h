// What is kept of elastic jobs, as records of the store.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "store/store.h"

namespace fairlead::slurm {

struct ElasticRecord {
  struct Size {
    uint32_t num_gpus = 0;
    double iteration_s = 0;
    double measured_s = 0;  // for how long

    friend bool operator==(const Size&, const Size&) = default;
  };
  SimTime first_seen;
  double steps_done = 0;
  double attained_service = 0;  // GPU-seconds
  double executed_s = 0;
  uint32_t num_starts = 0;    // but for the present one
  double restart_cost_s = 0;  // 0: not measured
  uint32_t num_requeues = 0;  // by us, after Slurm had ended it
  std::vector<Size> speeds;
};

std::string ElasticKey(uint32_t job);
std::string ElasticText(const ElasticRecord& record);
// Errors: kInvalidArgument: what is wrong.
Result<ElasticRecord> ReadElasticText(const std::string& text);

// By job. Errors: kUnavailable: the store; kDataLoss: a record that can't be read: which one, and what is wrong.
Result<std::vector<std::pair<uint32_t, ElasticRecord>>> ReadElasticRecords(const store::Store& store);

}  // namespace fairlead::slurm
