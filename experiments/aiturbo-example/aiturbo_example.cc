#include "experiments/aiturbo-example/aiturbo_example.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "scheduling/aiturbo/unit_gains.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::experiments::aiturbo_example {
namespace {

using scheduling::AllUnitOperations;
using scheduling::kNumUnitOperations;
using scheduling::UnitOperation;
using scheduling::aiturbo::GainQueue;
using scheduling::aiturbo::UnitGains;

constexpr scheduling::ResourceUnits kUnits{10, 1};  // one GPU counts as ten cores

struct SlideJob {
  double now = 0;                                // remaining service
  std::array<double, kNumUnitOperations> after;  // [UnitOperation]
};
constexpr SlideJob kSlideJobs[] = {{10, {9, 8, 12, 6, 5, 12, 14, 12, 13, 18}},
                                   {16, {22, 26, 18, 18, 24, 14, 15, 16, 16, 10}}};
constexpr const char* kNames[] = {"A", "B"};

// A job with room for every operation, whose remaining service is the one on the slide.
scheduling::PsWorkerJob MakeJob(const SlideJob& slide) {
  scheduling::PsWorkerJob job;
  job.config = {.num_ps = 3, .num_workers = 3, .cores_per_ps = 3, .cores_per_worker = 3, .num_gpus = 2};
  job.iteration_s = [slide, config = job.config, limits = job.limits](const scheduling::PsWorkerConfig& asked) {
    const double resources = kUnits.Of({asked.num_gpus, asked.num_cores()});
    if (asked == config) return slide.now / resources;
    for (const UnitOperation op : AllUnitOperations()) {
      if (scheduling::Apply(op, config, limits) == asked) return slide.after[static_cast<size_t>(op)] / resources;
    }
    return std::numeric_limits<double>::quiet_NaN();
  };
  return job;
}

double GainOf(const UnitGains& gains, UnitOperation op) {
  for (const scheduling::OperationGain& gain : gains.gains) {
    if (gain.operation == op) return gain.gain;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void AddGains(size_t j, const UnitGains& gains, experiment::Outcome* outcome) {
  const std::string job = kNames[j];
  for (const scheduling::OperationGain& gain : gains.gains) {
    outcome->Set(fmt::format("{}: remaining service after {}", job, UnitOperationName(gain.operation)),
                 kSlideJobs[j].now - gain.gain);
  }
  outcome->Set(job + ": gain of the best operation", gains.best->gain);
  outcome->Set(job + ": in the increase queue", gains.queue == GainQueue::kIncrease ? 1 : 0);
}

// Both directions, each resource: the total remaining service after one unit has moved.
void AddTransfers(const UnitGains& a, const UnitGains& b, experiment::Outcome* outcome) {
  const double total = kSlideJobs[0].now + kSlideJobs[1].now;
  outcome->Set("total before", total);
  for (size_t r = 0; r < kNumUnitOperations / 2; ++r) {
    const auto add = static_cast<UnitOperation>(r);
    const auto remove = Opposite(add);
    const std::string resource(UnitOperationName(add).substr(1));
    outcome->Set("total after B gives A a " + resource, total - GainOf(a, add) - GainOf(b, remove));
    outcome->Set("total after A gives B a " + resource, total - GainOf(b, add) - GainOf(a, remove));
  }
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext&) {
  const scheduling::PsWorkerJob jobs[] = {MakeJob(kSlideJobs[0]), MakeJob(kSlideJobs[1])};
  const std::vector<scheduling::JobSize> size = {{jobs[0].config.num_gpus, jobs[0].config.num_cores(), 1}};
  scheduling::AllocationSnapshot snapshot;
  snapshot.units = kUnits;
  snapshot.nodes.assign(1, {8, 64, 0});
  for (uint32_t j = 0; j < 2; ++j) {
    scheduling::AllocationJob job;
    job.id = JobId(j);
    job.sizes = size;
    job.is_predictable = true;
    job.remaining_iterations = 1;
    job.ps_worker = &jobs[j];
    snapshot.jobs.push_back(job);
  }
  experiment::Outcome outcome;
  std::vector<UnitGains> gains;
  for (size_t j = 0; j < 2; ++j) {
    gains.push_back(*scheduling::aiturbo::ComputeUnitGains(snapshot.jobs[j], kUnits));
    AddGains(j, gains.back(), &outcome);
  }
  AddTransfers(gains[0], gains[1], &outcome);
  FL_ASSIGN_OR_RETURN(const auto policy, scheduling::CreateAllocationPolicy("aiturbo-literal", 1));
  FL_ASSIGN_OR_RETURN(const scheduling::AllocationPlan plan, policy->Decide(snapshot));
  for (size_t j = 0; j < 2; ++j) {
    outcome.Set(fmt::format("{}: GPUs after the round", kNames[j]), plan.jobs[j].config->num_gpus);
  }
  outcome.notes.emplace_back("Both jobs had two GPUs. The placement of the slide's 20 numbers in the table is ours.");
  return outcome;
}

}  // namespace fairlead::experiments::aiturbo_example
