#include "experiments/c4p-real-jobs/exposed_job.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "collective/collective_sequence.h"
#include "collective/iteration_traffic.h"
#include "collective/rank_layout.h"
#include "collective/training_iteration.h"

namespace fairlead::experiments::c4p_real_jobs {

namespace {

using collective::CollectiveKind;
using collective::SequenceStep;
using collective::StepGroup;

constexpr uint32_t kGpusPerHost = 8;

struct Exchange {
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  Bytes bytes;
};

// Between replicas, in one iteration.
std::vector<Exchange> DataParallelExchanges(const collective::IterationTraffic& traffic,
                                            const model::Parallelism& parallelism) {
  if (parallelism.zero_stage == 0) return {{CollectiveKind::kHierarchicalAllReduce, traffic.dense_gradients}};
  // ZeRO 3 gathers parameters for forward and again for backward.
  const double gathers = parallelism.zero_stage == 3 ? 2 : 1;
  return {{CollectiveKind::kHierarchicalAllGather, traffic.dense_parameters * gathers},
          {CollectiveKind::kHierarchicalReduceScatter, traffic.dense_gradients}};
}

SequenceStep Communicate(const Exchange& exchange, StepGroup::Kind group, double share, Seconds overlap) {
  SequenceStep step;
  step.bytes = exchange.bytes * share;
  step.overlap = overlap;
  step.kind = exchange.kind;
  step.group.kind = group;
  return step;
}

}  // namespace

Result<sim::ImportedWork> ExposeCommunication(const collective::ModelProfile& profile,
                                              const model::Parallelism& parallelism, FlopPerSecond gpu_peak,
                                              double exposed) {
  FL_CHECK(exposed >= 0 && exposed <= 1 && parallelism.pipeline == 1 && parallelism.expert == 1);
  const uint32_t num_gpus = parallelism.tensor * parallelism.data;
  const collective::RankLayout layout = collective::MakeRegularLayout(num_gpus / kGpusPerHost, kGpusPerHost);
  FL_ASSIGN_OR_RETURN(const model::Iteration iteration,
                      collective::BuildIteration(profile, parallelism, layout, gpu_peak));
  const collective::IterationTraffic traffic = collective::ComputeIterationTraffic(profile, parallelism);
  const std::vector<Exchange> exchanges = DataParallelExchanges(traffic, parallelism);

  auto sequence = std::make_shared<collective::CollectiveSequence>();
  sequence->name = profile.name;
  sequence->parallelism = parallelism;
  sequence->work = iteration.work;
  if (traffic.tensor_all_reduce > Bytes(0)) {
    const Exchange tensor = {CollectiveKind::kHierarchicalAllReduce, traffic.tensor_all_reduce};
    sequence->steps.push_back(Communicate(tensor, StepGroup::Kind::kTensor, 1, Seconds(0)));
  }
  for (const Exchange& exchange : exchanges) {
    if (exposed < 1) {
      sequence->steps.push_back(Communicate(exchange, StepGroup::Kind::kData, 1 - exposed, collective::kUntilEnd));
    }
  }
  SequenceStep compute;
  compute.compute = iteration.compute_time;
  sequence->steps.push_back(compute);
  for (const Exchange& exchange : exchanges) {
    if (exposed > 0) sequence->steps.push_back(Communicate(exchange, StepGroup::Kind::kData, exposed, Seconds(0)));
  }
  return sim::ImportedWork{.sequence = std::move(sequence), .parallelism = parallelism, .options = {.max_rounds = 0}};
}

}  // namespace fairlead::experiments::c4p_real_jobs
