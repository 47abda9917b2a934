#include "collective/training_iteration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collective/all_to_all.h"
#include "collective/collective_kind.h"
#include "collective/hierarchical_collectives.h"
#include "collective/iteration_traffic.h"
#include "collective/phase_plan.h"
#include "collective/rank_grid.h"

namespace fairlead::collective {
namespace {

// Backward is twice the work of forward.
constexpr double kForwardShare = 1.0 / 3;
constexpr double kMostBucketPhases = 64;

enum class DataParallelOperation { kAllReduce, kReduceScatter, kAllGather };

Status Refuse(const ModelProfile& profile, std::string_view problem) {
  return InvalidArgument(fmt::format("iteration of model '{}': {}", profile.name, problem));
}

Status ValidateTransformerSplit(const ModelProfile& profile, const Transformer& t, const model::Parallelism& p) {
  if (t.layers % p.pipeline != 0) {
    return Refuse(profile, fmt::format("{} layers cannot be divided into {} pipeline stages", t.layers, p.pipeline));
  }
  if (t.heads % p.tensor != 0) {
    return Refuse(profile, fmt::format("{} heads cannot be divided among tensor size {}", t.heads, p.tensor));
  }
  if (t.experts % p.expert != 0) {
    return Refuse(profile, fmt::format("{} experts cannot be divided among expert size {}", t.experts, p.expert));
  }
  return OkStatus();
}

// That the model can be cut as `p` says; RankGrid checks the numbers against the ranks.
Status ValidateSplit(const ModelProfile& profile, const model::Parallelism& p) {
  if (p.micro_batches == 0) return Refuse(profile, "micro_batches must be at least 1");
  if (p.zero_stage > 3) return Refuse(profile, fmt::format("zero_stage {} is not in [0, 3]", p.zero_stage));
  if (const auto* t = std::get_if<Transformer>(&profile.architecture)) return ValidateTransformerSplit(profile, *t, p);
  if (p.tensor > 1 || p.pipeline > 1 || p.expert > 1) {
    return Refuse(profile, "only transformers can have tensor, pipeline or expert parallelism");
  }
  return OkStatus();
}

Status ValidateOptions(const ModelProfile& profile, const IterationOptions& options) {
  if (options.overlap_start && !(*options.overlap_start >= 0 && *options.overlap_start <= 1)) {
    return Refuse(profile, fmt::format("overlap_start {} is not in [0, 1]", *options.overlap_start));
  }
  if (options.gradient_bucket && !(*options.gradient_bucket > Bytes(0))) {
    return Refuse(profile, "gradient_bucket must be above 0");
  }
  if (options.blocking_rounds == 0 || options.blocking_rounds > 1024) {
    return Refuse(profile, fmt::format("blocking_rounds {} is not in [1, 1024]", options.blocking_rounds));
  }
  return OkStatus();
}

CollectiveKind KindOf(DataParallelOperation operation, DataParallelAlgorithm algorithm) {
  const bool in_network = algorithm == DataParallelAlgorithm::kInNetwork;
  if (in_network && operation == DataParallelOperation::kAllReduce) return CollectiveKind::kInNetworkAllReduce;
  const bool hierarchical = in_network || algorithm == DataParallelAlgorithm::kHierarchical;
  switch (operation) {
    case DataParallelOperation::kReduceScatter:
      return hierarchical ? CollectiveKind::kHierarchicalReduceScatter : CollectiveKind::kRingReduceScatter;
    case DataParallelOperation::kAllGather:
      return hierarchical ? CollectiveKind::kHierarchicalAllGather : CollectiveKind::kRingAllGather;
    case DataParallelOperation::kAllReduce:
      break;
  }
  if (hierarchical) return CollectiveKind::kHierarchicalAllReduce;
  return algorithm == DataParallelAlgorithm::kTree ? CollectiveKind::kTreeAllReduce : CollectiveKind::kRingAllReduce;
}

// Collects the phases of one iteration. Everything it refers to outlives it.
class PhasePlanner {
 public:
  PhasePlanner(const RankGrid& grid, const IterationTraffic& traffic, const model::Parallelism& parallelism,
               const IterationOptions& options, double overlap_start)
      : grid_(grid), traffic_(traffic), parallelism_(parallelism), options_(options), overlap_start_(overlap_start) {}

  std::vector<PhasePlan> Plan() && {
    const double blocking_end = parallelism_.data > 1 ? overlap_start_ : 1;
    const uint32_t rounds = options_.blocking_rounds;
    for (uint32_t round = 1; round <= rounds; ++round) PlanBlockingRound(blocking_end * round / (rounds + 1));
    PlanDataParallel();
    return std::move(plans_);
  }

 private:
  void PlanBlockingRound(double start) {
    const double share = 1.0 / options_.blocking_rounds;
    Add("tp all-reduce", start, true, traffic_.num_tensor_all_reduces * share, [this, share](FlowSet& flows) {
      for (const Communicator& group : grid_.TensorGroups()) {
        AppendHierarchicalAllReduce(group, traffic_.tensor_all_reduce * share, flows);
      }
    });
    Add("ep all-to-all", start, true, traffic_.num_expert_all_to_alls * share, [this, share](FlowSet& flows) {
      for (const Communicator& group : grid_.ExpertGroups()) {
        AppendExchange(group, traffic_.expert_all_to_all * share, flows);
      }
    });
    Add("embedding all-to-all", start, true, traffic_.num_embedding_all_to_alls * share, [this, share](FlowSet& flows) {
      for (const Communicator& group : grid_.DataGroups()) {
        AppendExchange(group, traffic_.embedding_all_to_all * share, flows);
      }
    });
    Add("pp send/recv", start, true, traffic_.num_pipeline_messages * share, [this, share](FlowSet& flows) {
      if (traffic_.pipeline_message <= Bytes(0)) return;
      flows.AddChain(1);
      for (const auto& [earlier, later] : grid_.PipelineBoundaries()) {
        flows.AddAlone(earlier, later, traffic_.pipeline_message * share);
        flows.AddAlone(later, earlier, traffic_.pipeline_message * share);
      }
    });
  }

  void PlanDataParallel() {
    using enum DataParallelOperation;
    switch (parallelism_.zero_stage) {
      case 0:
        return AddGradients("dp all-reduce", kAllReduce);
      case 1:
      case 2:
        AddGradients("dp reduce-scatter", kReduceScatter);
        return AddDataParallel("dp all-gather", 1, kAllGather);
      default:
        AddDataParallel("dp all-gather forward", 0, kAllGather, parallelism_.micro_batches);
        AddDataParallel("dp all-gather backward", std::min(kForwardShare, overlap_start_), kAllGather,
                        parallelism_.micro_batches);
        return AddGradients("dp reduce-scatter", kReduceScatter);
    }
  }

  void AddGradients(const std::string& name, DataParallelOperation operation) {
    if (!options_.gradient_bucket) return AddDataParallel(name, overlap_start_, operation);
    const Bytes bytes = std::max(traffic_.dense_gradients, traffic_.expert_gradients);
    const double num_buckets = std::max(1.0, std::ceil(bytes / *options_.gradient_bucket));
    const double num_phases = std::min(num_buckets, kMostBucketPhases);
    for (double done = 1; done <= num_phases; ++done) {
      const double ready = kForwardShare + (1 - kForwardShare) * (done / num_phases);
      AddDataParallel(name, ready, operation, 1 / num_phases, num_buckets / num_phases);
    }
  }

  // `times` all of it, in as many collectives, or in `num_collectives`.
  void AddDataParallel(std::string name, double start, DataParallelOperation operation, double times = 1,
                       std::optional<double> num_collectives = std::nullopt) {
    const bool parameters = operation == DataParallelOperation::kAllGather;
    const Bytes dense = (parameters ? traffic_.dense_parameters : traffic_.dense_gradients) * times;
    const Bytes experts = (parameters ? traffic_.expert_parameters : traffic_.expert_gradients) * times;
    const CollectiveKind kind = KindOf(operation, options_.data_parallel);
    Add(std::move(name), start, false, num_collectives.value_or(times), [this, dense, experts, kind](FlowSet& flows) {
      for (const Communicator& group : grid_.DataGroups()) AppendCollective(kind, group, dense, flows);
      for (const Communicator& group : grid_.ExpertDataGroups()) AppendCollective(kind, group, experts, flows);
    });
  }

  void AppendExchange(const Communicator& group, Bytes size, FlowSet& flows) const {
    if (options_.rail_all_to_all) return AppendRailAllToAll(group, size, flows);
    AppendAllToAll(group, size, flows);
  }

  void Add(std::string name, double start, bool blocks, double num_repeats,
           std::function<void(FlowSet&)> append_flows) {
    plans_.push_back({std::move(name), start, blocks, std::move(append_flows), num_repeats});
  }

  const RankGrid& grid_;
  const IterationTraffic& traffic_;
  const model::Parallelism& parallelism_;
  const IterationOptions& options_;
  const double overlap_start_;
  std::vector<PhasePlan> plans_;
};

}  // namespace

Result<model::Iteration> BuildIteration(const ModelProfile& profile, const model::Parallelism& parallelism,
                                        const RankLayout& layout, FlopPerSecond gpu_peak,
                                        const IterationOptions& options) {
  FL_RETURN_IF_ERROR(ValidateModelProfile(profile));
  FL_RETURN_IF_ERROR(ValidateOptions(profile, options));
  FL_ASSIGN_OR_RETURN(const RankGrid grid, RankGrid::Create(layout, parallelism));
  FL_RETURN_IF_ERROR(ValidateSplit(profile, parallelism));
  if (!(gpu_peak > FlopPerSecond(0))) return Refuse(profile, "the peak rate of a GPU must be above 0");

  model::Iteration iteration;
  const double samples =
      static_cast<double>(profile.samples_per_micro_batch) * parallelism.micro_batches * parallelism.data;
  iteration.work = TrainingFlopPerSample(profile) * samples;
  iteration.compute_time =
      iteration.work / (gpu_peak * (static_cast<double>(layout.ranks.size()) * profile.efficiency));
  iteration.bubble_time = iteration.compute_time * ((parallelism.pipeline - 1.0) / parallelism.micro_batches);

  const IterationTraffic traffic = ComputeIterationTraffic(profile, parallelism);
  const double overlap_start = options.overlap_start.value_or(profile.overlap_start);
  PhasePlanner planner(grid, traffic, parallelism, options, overlap_start);
  LayOutPhases(std::move(planner).Plan(), iteration);
  return iteration;
}

}  // namespace fairlead::collective
