#include "scheduling/allocation_registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "base/nearest_word.h"
#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/aiturbo/aiturbo_literal.h"
#include "scheduling/drf/drf.h"
#include "scheduling/fcfs/fcfs.h"
#include "scheduling/gavel/gavel.h"
#include "scheduling/gittins/gittins.h"
#include "scheduling/las/las.h"
#include "scheduling/optimus/optimus.h"
#include "scheduling/pollux/pollux.h"
#include "scheduling/sia/sia.h"
#include "scheduling/srtf/srtf.h"
#include "scheduling/themis/themis.h"

namespace fairlead::scheduling {
namespace {

using Policy = std::unique_ptr<AllocationPolicy>;

// An option, and where it is in the policy's struct of options.
template <class Options>
struct OptionField {
  std::string_view name;
  double& (*field)(Options& options);
  std::string_view help;
};

template <class Options, size_t kNumFields>
std::vector<PolicyOption> Describe(const OptionField<Options> (&fields)[kNumFields]) {
  Options defaults;
  std::vector<PolicyOption> described;
  for (const auto& field : fields) described.push_back({field.name, field.field(defaults), field.help});
  return described;
}

// `settings` are options that the policy has.
template <class Options, size_t kNumFields>
Options Apply(const OptionField<Options> (&fields)[kNumFields], const PolicySettings& settings) {
  Options options;
  for (const auto& [name, value] : settings) {
    std::ranges::find(fields, name, &OptionField<Options>::name)->field(options) = value;
  }
  return options;
}

using aiturbo::AiturboOptions;
constexpr OptionField<AiturboOptions> kAiturboFields[] = {
    {"price_factor", [](AiturboOptions& o) -> double& { return o.price_factor; },
     "jobs that suffer from a large job, as a multiple of those that wait; higher: smaller jobs; 0: sizes at the knee"},
    {"knee_efficiency", [](AiturboOptions& o) -> double& { return o.knee_efficiency; },
     "least efficiency of a size, above 0 to 1, with price_factor 0; higher: smaller jobs"},
    {"fill_min", [](AiturboOptions& o) -> double& { return o.fill_min; },
     "a free GPU goes to a job only if it speeds it up by this share; higher: fewer restarts"},
    {"hold_s", [](AiturboOptions& o) -> double& { return o.hold_s; },
     "a job resized less than this ago keeps its size if it can, s; higher: fewer restarts"},
    {"hold_doubling", [](AiturboOptions& o) -> double& { return o.hold_doubling; },
     "restarts after which the hold of a job is twice as long; lower: fewer restarts; 0: never"},
    {"restart_budget", [](AiturboOptions& o) -> double& { return o.restart_budget; },
     "restarts that a job is to have at most; lower: fewer restarts, worse times; 0: as often as it pays"},
    {"restart_factor", [](AiturboOptions& o) -> double& { return o.restart_factor; },
     "a growth has to save this many restarts; higher: fewer restarts"},
    {"round_s", [](AiturboOptions& o) -> double& { return o.round_s; }, "time between decisions without events, s"},
    {"age", [](AiturboOptions& o) -> double& { return o.age; },
     "a stopped job goes first after this many times what it ran; higher: short jobs end sooner"},
    {"stay_factor", [](AiturboOptions& o) -> double& { return o.stay_factor; },
     "a running job is preferred as if it had this many times less to do, 1 or more; higher: fewer stops"},
    {"patience_s", [](AiturboOptions& o) -> double& { return o.patience_s; },
     "time after which a job counts as if it had half as much to do, s; lower: long jobs end sooner; 0: never"},
    {"max_wait_s", [](AiturboOptions& o) -> double& { return o.max_wait_s; },
     "a job that waited so long goes first, s; lower: shorter longest waits"},
    {"aged_share", [](AiturboOptions& o) -> double& { return o.aged_share; },
     "part of the cluster for jobs that waited so long; higher: shorter longest waits under too many jobs"},
    {"fairness", [](AiturboOptions& o) -> double& { return o.fairness; },
     "part of the order of submission in the order of service, 0 to 1; higher: shorter longest waits"},
    {"min_run_s", [](AiturboOptions& o) -> double& { return o.min_run_s; },
     "an unpredictable job is not stopped earlier, s; higher: fewer restarts"},
};

using gavel::GavelOptions;
constexpr OptionField<GavelOptions> kGavelFields[] = {
    {"round_s", [](GavelOptions& o) -> double& { return o.round_s; },
     "length of a round, s; lower: shares are met sooner, more restarts"},
};

using sia::SiaOptions;
constexpr OptionField<SiaOptions> kSiaFields[] = {
    {"power", [](SiaOptions& o) -> double& { return o.power; },
     "of goodputs in the sum, below 0; lower: fairer to the job that is worst off, less goodput in all"},
    {"idle_cost", [](SiaOptions& o) -> double& { return o.idle_cost; },
     "of a job that waits, above 0; higher: more jobs run, on fewer GPUs each"},
    {"round_s", [](SiaOptions& o) -> double& { return o.round_s; }, "time between two decisions, s"},
};

using themis::ThemisOptions;
constexpr OptionField<ThemisOptions> kThemisFields[] = {
    {"round_s", [](ThemisOptions& o) -> double& { return o.round_s; },
     "length of a round, s; lower: shares are met sooner, more restarts"},
};

using pollux::PolluxOptions;
constexpr OptionField<PolluxOptions> kPolluxFields[] = {
    {"round_s", [](PolluxOptions& o) -> double& { return o.round_s; }, "time between two searches, s"},
    {"most_gpus", [](PolluxOptions& o) -> double& { return o.most_gpus; },
     "GPUs that a job has at most; lower: fewer for jobs that scale"},
};

constexpr OptionField<ServiceQueueOptions> kTiresiasFields[] = {
    {"queue_limit_gpu_s", [](ServiceQueueOptions& o) -> double& { return o.limits_gpu_s.front(); },
     "GPU-seconds after which a job sinks to the second queue; lower: short jobs end sooner"},
    {"promote_knob", [](ServiceQueueOptions& o) -> double& { return o.promote_knob; },
     "a job that waited for this many times what it ran rises again; 0: never"},
};

using gittins::GittinsOptions;
constexpr OptionField<GittinsOptions> kGittinsFields[] = {
    {"queue_limit_gpu_s", [](GittinsOptions& o) -> double& { return o.queues.limits_gpu_s.front(); },
     "GPU-seconds after which a job sinks to the second queue; lower: short jobs end sooner"},
    {"promote_knob", [](GittinsOptions& o) -> double& { return o.queues.promote_knob; },
     "a job that waited for this many times what it ran rises again; 0: never"},
    {"quantum_gpu_s", [](GittinsOptions& o) -> double& { return o.quantum_gpu_s; },
     "how far the index looks ahead, GPU-seconds"},
};

std::vector<PolicyOption> NoOptions() { return {}; }

struct Entry {
  std::string_view name;
  std::vector<PolicyOption> (*options)();
  Result<Policy> (*create)(uint64_t seed, const PolicySettings& settings);
};

constexpr Entry kEntries[] = {
    {"aiturbo", [] { return Describe(kAiturboFields); },
     [](uint64_t, const PolicySettings& s) { return aiturbo::CreateAiturbo(Apply(kAiturboFields, s)); }},
    {"aiturbo-literal", NoOptions, [](uint64_t, const PolicySettings&) { return aiturbo::CreateAiturboLiteral(); }},
    {"fcfs", NoOptions,
     [](uint64_t, const PolicySettings&) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kBlocks); }},
    {"fcfs-skip", NoOptions,
     [](uint64_t, const PolicySettings&) -> Result<Policy> { return fcfs::CreateFcfs(fcfs::Misfit::kSkipped); }},
    {"srtf", NoOptions,
     [](uint64_t, const PolicySettings&) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kTime); }},
    {"srsf", NoOptions,
     [](uint64_t, const PolicySettings&) -> Result<Policy> { return srtf::CreateSrtf(srtf::Key::kService); }},
    {"tiresias", [] { return Describe(kTiresiasFields); },
     [](uint64_t, const PolicySettings& s) { return las::CreateLas(Apply(kTiresiasFields, s)); }},
    {"gittins", [] { return Describe(kGittinsFields); },
     [](uint64_t, const PolicySettings& s) { return gittins::CreateGittins(Apply(kGittinsFields, s)); }},
    {"optimus", NoOptions, [](uint64_t, const PolicySettings&) -> Result<Policy> { return optimus::CreateOptimus(); }},
    {"drf", NoOptions, [](uint64_t, const PolicySettings&) -> Result<Policy> { return drf::CreateDrf(); }},
    {"gavel", [] { return Describe(kGavelFields); },
     [](uint64_t, const PolicySettings& s) { return gavel::CreateGavel(Apply(kGavelFields, s)); }},
    {"gavel-throughput", [] { return Describe(kGavelFields); },
     [](uint64_t, const PolicySettings& s) {
       GavelOptions options = Apply(kGavelFields, s);
       options.goal = gavel::GavelGoal::kThroughput;
       return gavel::CreateGavel(options);
     }},
    {"themis", [] { return Describe(kThemisFields); },
     [](uint64_t, const PolicySettings& s) { return themis::CreateThemis(Apply(kThemisFields, s)); }},
    {"pollux", [] { return Describe(kPolluxFields); },
     [](uint64_t seed, const PolicySettings& s) -> Result<Policy> {
       PolluxOptions options = Apply(kPolluxFields, s);
       options.seed = seed;
       return pollux::CreatePollux(options);
     }},
    {"sia", [] { return Describe(kSiaFields); },
     [](uint64_t, const PolicySettings& s) { return sia::CreateSia(Apply(kSiaFields, s)); }},
};

Status CheckSettings(const Entry& entry, const PolicySettings& settings) {
  const std::vector<PolicyOption> options = entry.options();
  std::vector<std::string_view> known;
  for (const PolicyOption& option : options) known.push_back(option.name);
  for (const auto& [name, value] : settings) {
    if (std::ranges::find(known, name) == known.end()) {
      if (known.empty()) return InvalidArgument(fmt::format("policy {} has no options; found '{}'", entry.name, name));
      return InvalidArgument(UnknownName(fmt::format("option of policy {}", entry.name), name, known));
    }
    if (!std::isfinite(value)) {
      return InvalidArgument(fmt::format("policy {}: {} is {}; expected a finite number", entry.name, name, value));
    }
  }
  return OkStatus();
}

}  // namespace

std::vector<std::string_view> AllocationPolicyNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return names;
}

std::vector<PolicyOption> AllocationPolicyOptions(std::string_view name) {
  const auto* const entry = std::ranges::find(kEntries, name, &Entry::name);
  return entry == std::end(kEntries) ? std::vector<PolicyOption>{} : entry->options();
}

Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed) {
  return CreateAllocationPolicy(name, seed, {});
}

Result<std::unique_ptr<AllocationPolicy>> CreateAllocationPolicy(std::string_view name, uint64_t seed,
                                                                 const PolicySettings& settings) {
  const auto* const entry = std::ranges::find(kEntries, name, &Entry::name);
  if (entry == std::end(kEntries)) {
    return InvalidArgument(UnknownName("allocation policy", name, AllocationPolicyNames()));
  }
  FL_RETURN_IF_ERROR(CheckSettings(*entry, settings));
  return entry->create(seed, settings);
}

}  // namespace fairlead::scheduling
