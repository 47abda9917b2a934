#include "collective/collective_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "collective/phase_plan.h"
#include "collective/rank_grid.h"
#include "collective/sequence_phases.h"

namespace fairlead::collective {
namespace {

constexpr double kMaxSeconds = 1e9;
constexpr double kMaxBytes = 1e18;
constexpr double kMaxFlop = 1e30;
constexpr uint32_t kMaxRounds = 1024;

using Kind = StepGroup::Kind;

bool IsPairwise(const StepGroup& group) { return group.kind == Kind::kPipeline || group.kind == Kind::kShifted; }

Status Refuse(const CollectiveSequence& sequence, std::string_view problem) {
  return InvalidArgument(fmt::format("workload '{}': {}", sequence.name, problem));
}

Status RefuseStep(const CollectiveSequence& sequence, size_t step, std::string_view problem) {
  return Refuse(sequence, fmt::format("step {}: {}", step, problem));
}

bool IsInRange(double value, double max) { return value >= 0 && value <= max; }  // false for NaN

Status ValidateStep(const CollectiveSequence& sequence, size_t index) {
  const SequenceStep& step = sequence.steps[index];
  if (!IsInRange(step.compute.value(), kMaxSeconds)) {
    return RefuseStep(sequence, index, fmt::format("compute of {} s is not in [0, 1e9]", step.compute.value()));
  }
  if (!IsInRange(step.bytes.value(), kMaxBytes)) {
    return RefuseStep(sequence, index, fmt::format("{} bytes are not in [0, 1e18]", step.bytes.value()));
  }
  if (!(step.overlap >= Seconds(0))) {
    return RefuseStep(sequence, index, fmt::format("overlap of {} s is negative", step.overlap.value()));
  }
  if (IsPairwise(step.group) && step.kind != CollectiveKind::kSendReceive) {
    return RefuseStep(sequence, index,
                      fmt::format("{} between pairs of ranks; expected send-receive", Name(step.kind)));
  }
  return OkStatus();
}

Status Validate(const CollectiveSequence& sequence, const RankLayout& layout, FlopPerSecond gpu_peak,
                const SequenceOptions& options) {
  if (layout.ranks.empty()) return Refuse(sequence, "no GPUs");
  if (!(gpu_peak > FlopPerSecond(0))) return Refuse(sequence, "the peak rate of a GPU must be above 0");
  if (options.max_rounds > kMaxRounds) {
    return Refuse(sequence, fmt::format("max_rounds {} is not in [0, {}]", options.max_rounds, kMaxRounds));
  }
  if (options.max_flows == 0) return Refuse(sequence, "max_flows must be at least 1");
  if (!(options.flop_utilization > 0 && options.flop_utilization <= 1)) {
    return Refuse(sequence, fmt::format("flop_utilization {} is not in (0, 1]", options.flop_utilization));
  }
  if (!IsInRange(sequence.work.value(), kMaxFlop)) {
    return Refuse(sequence, fmt::format("work of {} FLOP is not in [0, 1e30]", sequence.work.value()));
  }
  for (size_t i = 0; i < sequence.steps.size(); ++i) FL_RETURN_IF_ERROR(ValidateStep(sequence, i));
  return OkStatus();
}

// The communicators of a step. In the order of messages: each sends from its earlier ranks to its later ones.
class GroupResolver {
 public:
  GroupResolver(const CollectiveSequence& sequence, const RankLayout& layout, const model::Parallelism& parallelism)
      : sequence_(sequence), layout_(layout), parallelism_(parallelism) {}

  Result<std::vector<Communicator>> Resolve(const StepGroup& group, bool is_forward) {
    switch (group.kind) {
      case Kind::kWorld:
        return std::vector<Communicator>{layout_.ranks};
      case Kind::kStrided:
        return Strided(group);
      case Kind::kShifted:
        return Shifted(group);
      case Kind::kListed:
        return Listed(group);
      default:
        return FromGrid(group.kind, is_forward);
    }
  }

 private:
  Result<std::vector<Communicator>> FromGrid(Kind kind, bool is_forward) {
    if (!grid_) {
      FL_ASSIGN_OR_RETURN(grid_, RankGrid::Create(layout_, parallelism_));
    }
    if (kind == Kind::kTensor) return grid_->TensorGroups();
    if (kind == Kind::kData) return grid_->DataGroups();
    if (kind == Kind::kExpert) return grid_->ExpertGroups();
    if (kind == Kind::kExpertData) return grid_->ExpertDataGroups();
    std::vector<Communicator> pairs;
    for (const auto& [earlier, later] : grid_->PipelineBoundaries()) {
      pairs.push_back(is_forward ? Communicator{earlier, later} : Communicator{later, earlier});
    }
    return pairs;
  }

  Result<std::vector<Communicator>> Strided(const StepGroup& group) const {
    const size_t n = layout_.ranks.size();
    const uint64_t span = uint64_t{group.size} * group.stride;
    if (span == 0 || n % span != 0) {
      return Refuse(sequence_,
                    fmt::format("groups of {} ranks, {} apart, don't tile {} GPUs", group.size, group.stride, n));
    }
    std::vector<Communicator> groups;
    for (size_t block = 0; block < n; block += span) {
      for (size_t first = block; first < block + group.stride; ++first) {
        Communicator& members = groups.emplace_back();
        for (uint32_t i = 0; i < group.size; ++i) members.push_back(layout_.ranks[first + size_t{i} * group.stride]);
      }
    }
    return groups;
  }

  Result<std::vector<Communicator>> Shifted(const StepGroup& group) const {
    const auto n = static_cast<int64_t>(layout_.ranks.size());
    if (group.shift == 0 || group.shift <= -n || group.shift >= n) {
      return Refuse(sequence_, fmt::format("sends to the rank {:+} away; expected 1 to {} away on {} GPUs", group.shift,
                                           n - 1, n));
    }
    std::vector<Communicator> pairs;
    for (int64_t rank = std::max<int64_t>(0, -group.shift); rank < n && rank + group.shift < n; ++rank) {
      pairs.push_back(
          {layout_.ranks[static_cast<size_t>(rank)], layout_.ranks[static_cast<size_t>(rank + group.shift)]});
    }
    return pairs;
  }

  Result<std::vector<Communicator>> Listed(const StepGroup& group) const {
    if (group.index >= sequence_.listed.size()) {
      return Refuse(sequence_, fmt::format("there is no list of ranks {}", group.index));
    }
    std::vector<Communicator> groups;
    for (const std::vector<uint32_t>& ranks : sequence_.listed[group.index]) {
      Communicator& members = groups.emplace_back();
      for (const uint32_t rank : ranks) {
        if (rank >= layout_.ranks.size()) {
          return Refuse(sequence_, fmt::format("names rank {}, the job has {} GPUs", rank, layout_.ranks.size()));
        }
        members.push_back(layout_.ranks[rank]);
      }
      const std::set<uint32_t> distinct(ranks.begin(), ranks.end());
      if (distinct.size() != ranks.size()) {
        return Refuse(sequence_, fmt::format("list of ranks {} names a rank twice", group.index));
      }
    }
    return groups;
  }

  const CollectiveSequence& sequence_;
  const RankLayout& layout_;
  const model::Parallelism& parallelism_;
  std::optional<RankGrid> grid_;
};

// The flows of one byte of each (group, kind, direction) that the sequence uses.
class UnitFlows {
 public:
  using Key = std::tuple<StepGroup, CollectiveKind, bool>;

  static Key KeyOf(const StepGroup& group, CollectiveKind kind, TrainingPass pass) {
    return {group, kind, pass == TrainingPass::kForward};
  }

  static Result<UnitFlows> Create(const CollectiveSequence& sequence, GroupResolver& resolver) {
    UnitFlows units;
    for (const SequenceStep& step : sequence.steps) {
      if (step.bytes <= Bytes(0)) continue;
      const Key key = KeyOf(step.group, step.kind, step.pass);
      if (units.sets_.contains(key)) continue;
      FL_ASSIGN_OR_RETURN(const std::vector<Communicator> groups,
                          resolver.Resolve(step.group, step.pass == TrainingPass::kForward));
      FlowSet& set = units.sets_[key];
      for (const Communicator& members : groups) AppendCollective(step.kind, members, Bytes(1), set);
    }
    return units;
  }

  uint64_t CountFlows(const SequencePhases& planned) const {
    uint64_t count = 0;
    for (const SequencePhase& phase : planned.phases) count += SetOf(phase).flows.size();
    return count;
  }

  void Append(const SequencePhase& phase, FlowSet& flows) const {
    const FlowSet& set = SetOf(phase);
    for (model::FlowDemand flow : set.flows) {
      flow.bytes = phase.bytes * flow.bytes.value();
      flow.group += flows.num_groups;
      flows.flows.push_back(flow);
    }
    flows.num_groups += set.num_groups;
    flows.AddChain(set.num_steps);
  }

 private:
  const FlowSet& SetOf(const SequencePhase& phase) const {
    return sets_.at(KeyOf(phase.group, phase.kind, phase.pass));
  }

  std::map<Key, FlowSet> sets_;
};

// With as many rounds as the options allow, half as many, …, or one.
SequencePhases PlanAffordablePhases(const CollectiveSequence& sequence, const UnitFlows& units,
                                    const SequenceOptions& options) {
  uint32_t rounds = options.max_rounds;
  SequencePhases planned = PlanSequencePhases(sequence.steps, rounds);
  while (rounds > 1 && units.CountFlows(planned) > options.max_flows) {
    rounds /= 2;
    planned = PlanSequencePhases(sequence.steps, rounds);
  }
  return planned;
}

}  // namespace

std::string_view Name(TrainingPass pass) {
  static constexpr std::array<std::string_view, 3> kNames = {"forward", "input-grad", "weight-grad"};
  return kNames[static_cast<size_t>(pass)];
}

std::string ToString(const StepGroup& group) {
  static constexpr std::array<std::string_view, 6> kNames = {"world", "tp", "dp", "ep", "edp", "pp"};
  switch (group.kind) {
    case Kind::kStrided:
      return fmt::format("{}x{}", group.size, group.stride);
    case Kind::kShifted:
      return fmt::format("{:+}", group.shift);
    case Kind::kListed:
      return fmt::format("list {}", group.index);
    default:
      return std::string(kNames[static_cast<size_t>(group.kind)]);
  }
}

Result<model::Parallelism> ParallelismOf(const CollectiveSequence& sequence, uint32_t num_gpus) {
  if (sequence.num_gpus != 0 && sequence.num_gpus != num_gpus) {
    return Refuse(sequence, fmt::format("was made for {} GPUs; expected a job of as many, found {}", sequence.num_gpus,
                                        num_gpus));
  }
  model::Parallelism parallelism = sequence.parallelism;
  if (parallelism.data != 0) return parallelism;
  const uint64_t model_parallel = uint64_t{parallelism.tensor} * parallelism.pipeline;
  if (model_parallel == 0 || num_gpus == 0 || num_gpus % model_parallel != 0) {
    return Refuse(sequence, fmt::format("tensor {} x pipeline {} does not divide {} GPUs", parallelism.tensor,
                                        parallelism.pipeline, num_gpus));
  }
  parallelism.data = static_cast<uint32_t>(num_gpus / model_parallel);
  return parallelism;
}

Result<model::Iteration> BuildSequenceIteration(const CollectiveSequence& sequence,
                                                const model::Parallelism& parallelism, const RankLayout& layout,
                                                FlopPerSecond gpu_peak, const SequenceOptions& options) {
  FL_RETURN_IF_ERROR(Validate(sequence, layout, gpu_peak, options));
  if (parallelism.pipeline == 0 || parallelism.micro_batches == 0) {
    return Refuse(sequence, "pipeline and micro_batches must be at least 1");
  }
  GroupResolver resolver(sequence, layout, parallelism);
  FL_ASSIGN_OR_RETURN(const UnitFlows units, UnitFlows::Create(sequence, resolver));
  const SequencePhases planned = PlanAffordablePhases(sequence, units, options);

  model::Iteration iteration;
  iteration.compute_time = planned.compute;
  iteration.bubble_time = planned.compute * ((parallelism.pipeline - 1.0) / parallelism.micro_batches);
  iteration.work = sequence.work;
  if (sequence.work <= Flop(0)) {
    const double used_gpus = static_cast<double>(layout.ranks.size()) * options.flop_utilization;
    iteration.work = gpu_peak * planned.compute * used_gpus;
  }
  std::vector<PhasePlan> plans;
  for (const SequencePhase& phase : planned.phases) {
    plans.push_back({fmt::format("{} {}", ToString(phase.group), Name(phase.kind)), phase.start_fraction,
                     phase.blocks_compute, [&units, &phase](FlowSet& flows) { units.Append(phase, flows); },
                     static_cast<double>(phase.num_collectives)});
  }
  LayOutPhases(std::move(plans), iteration);
  return iteration;
}

}  // namespace fairlead::collective
