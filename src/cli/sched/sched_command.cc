// fairlead sched run: any workload of elastic and rigid jobs under any of our allocation policies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "cli/sched/sched_report.h"
#include "cli/sched/sched_settings.h"
#include "report/number_format.h"
#include "report/text_table.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/policy_settings.h"
#include "sim/elastic/batch_choice.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/sia_rules.h"
#include "sim/elastic/workload_file.h"

namespace fairlead::cli {

namespace {

// What policies know about jobs.
constexpr std::array<std::string_view, 7> kKnown = {"declared", "history", "oracle", "learned",
                                                    "speeds",   "fitted",  "steps"};

// Whose rules a simulation follows beside the profiles.
constexpr std::array<std::string_view, 2> kRules = {"pollux", "sia"};

// Policies that do not tell types of GPU apart: nor do models that their jobs fit.
constexpr std::array<std::string_view, 1> kBlindToTypes = {"pollux"};

struct SchedRunOptions {
  std::vector<std::string> workloads;
  std::string layout;
  std::string profiles;
  std::string gpu_type;
  std::string cluster = "16x4";
  std::vector<std::string> policies = {"aiturbo", "tiresias"};
  std::vector<std::string> settings;
  std::vector<std::string> tenants;
  std::string known = "declared";
  std::vector<std::string> batch_choosers = {"pollux", "sia"};
  std::string rules = "pollux";
  double declared_share = 1;
  double declared_error = 1;
  bool has_loss_curves = false;
  std::optional<double> mtbf_h;
  double repair_h = 1;
  double checkpoint_s = 600;
  double interval_s = 60;
  double restart_s = 30;
  uint64_t seed = 1;
  size_t most_jobs = 0;
  OutputOptions output;
  PageOptions page;
};

struct ChosenPolicy {
  std::string label;
  bool chooses_batches = false;
  std::unique_ptr<scheduling::AllocationPolicy> policy;
};

Result<std::vector<ChosenPolicy>> CreatePolicies(const SchedRunOptions& options) {
  FL_ASSIGN_OR_RETURN(const std::vector<scheduling::PolicySetting> settings,
                      scheduling::ParsePolicySettings(options.settings, options.policies, "--set"));
  FL_ASSIGN_OR_RETURN(const std::vector<scheduling::Tenant> tenants, ParseTenants(options.tenants));
  std::vector<ChosenPolicy> chosen;
  for (const std::string& name : options.policies) {
    ChosenPolicy policy{name, std::ranges::find(options.batch_choosers, name) != options.batch_choosers.end(), nullptr};
    const scheduling::PolicySettings own = scheduling::SettingsOf(settings, name);
    for (const scheduling::PolicySetting& setting : settings) {
      if (IsMeantFor(setting, name)) policy.label += fmt::format(" {}={}", setting.option, setting.value);
    }
    FL_ASSIGN_OR_RETURN(policy.policy, scheduling::CreateAllocationPolicy(name, options.seed, own));
    if (!tenants.empty()) {
      auto shared = scheduling::ShareAmongTenants(std::move(policy.policy), tenants);
      if (!shared.ok()) return InvalidArgument(fmt::format("--tenants: {}", shared.status().message()));
      policy.policy = std::move(shared).value();
    }
    chosen.push_back(std::move(policy));
  }
  return chosen;
}

// Empty where none is named.
Result<std::vector<std::string>> GpuTypesOf(const SchedRunOptions& options, const sim::ElasticCluster& cluster) {
  std::vector<std::string> types;
  for (const sim::NodeGroup& group : cluster.groups) {
    if (!group.gpu_type.empty()) types.push_back(group.gpu_type);
  }
  if (options.gpu_type.empty()) return types;
  if (types.empty()) return std::vector{options.gpu_type};
  return InvalidArgument(fmt::format("--gpu-type {}: --cluster {} names types already; leave one of both out",
                                     options.gpu_type, options.cluster));
}

Result<sim::WorkloadFile> LoadWorkload(const std::string& path, const SchedRunOptions& options,
                                       const sim::ElasticCluster& cluster) {
  sim::WorkloadFileOptions file;
  const auto names = sim::WorkloadLayoutNames();
  const auto layout = std::ranges::find(names, options.layout);
  if (layout != names.end()) file.layout = static_cast<sim::WorkloadLayout>(layout - names.begin());
  if (!options.profiles.empty()) file.profiles = FindInputFile(options.profiles);
  FL_ASSIGN_OR_RETURN(file.gpu_types, GpuTypesOf(options, cluster));
  if (options.most_jobs > 0) file.most_jobs = options.most_jobs;
  FL_ASSIGN_OR_RETURN(sim::WorkloadFile workload, sim::LoadWorkloadFile(FindInputFile(path), file));
  for (sim::ElasticJobSpec& job : workload.own.jobs) {
    const uint32_t least = job.allowed_gpus.empty() ? 1 : job.allowed_gpus.front();
    if (least > cluster.most_gpus_of_type()) {
      return InvalidArgument(fmt::format("{}: job '{}' needs {} GPUs at least; the cluster has {}: see --cluster", path,
                                         job.name, least, cluster.most_gpus_of_type()));
    }
    if (options.known == "speeds") job.predictable_after.reset();
  }
  if (options.rules == "sia") sim::ApplySiaRules(&workload.own.jobs);
  if (options.declared_share < 1) sim::DrawUnpredictable(options.declared_share, options.seed, &workload.own.jobs);
  if (options.declared_error > 1) sim::DrawDeclaredErrors(options.declared_error, options.seed, &workload.own.jobs);
  return workload;
}

std::string KnownWords(const SchedRunOptions& options) {
  const std::string& known = options.known;
  if (options.has_loss_curves) {
    return known == "declared" ? "declared epochs, jobs that ended, loss curves and measured speeds"
                               : "jobs that ended, loss curves and measured speeds";
  }
  if (known == "declared" && options.declared_error > 1) {
    return fmt::format("declared epochs (wrong by up to {:g} times), jobs that ended and measured speeds",
                       options.declared_error);
  }
  if (known == "declared") return "declared epochs, jobs that ended and measured speeds";
  if (known == "history") return "jobs that ended and measured speeds";
  if (known == "oracle") return "true speeds and true remaining work";
  if (known == "fitted") return "what each job learns of its speed while it trains, and true remaining work";
  if (known == "steps") return "declared steps, and what each job has shown of its own speed";
  if (known == "learned") return "loss curves and measured speeds";
  return "true speeds, and no job's length";
}

std::optional<sim::LearnedOptions> LearnedOptionsOf(const SchedRunOptions& options) {
  if (options.known == "oracle" || options.known == "speeds" || options.known == "fitted") return std::nullopt;
  sim::LearnedOptions learned;
  learned.seed = options.seed;
  if (options.known == "declared") learned.lengths = sim::LengthSource::kDeclared;
  if (options.known == "steps") learned.lengths = sim::LengthSource::kOwnSteps;
  if (options.known == "history") learned.lengths = sim::LengthSource::kHistory;
  learned.has_loss_curves = options.has_loss_curves;
  return learned;
}

// With true speeds, or models that each job fits. Models of other kinds are learned for the batch that a job was
// submitted with.
void ChooseBatches(const SchedRunOptions& options, const ChosenPolicy& policy, const sim::ElasticCluster& cluster,
                   std::vector<sim::ElasticJobSpec>* jobs) {
  if (options.known == "oracle" || options.known == "speeds") sim::LetJobsChooseBatches(cluster, jobs);
  if (options.known != "fitted") return;
  const bool is_blind = std::ranges::find(kBlindToTypes, policy.policy->name()) != kBlindToTypes.end();
  for (sim::ElasticJobSpec& job : *jobs) {
    if (job.profile != nullptr) job.fitted = is_blind ? sim::GoodputModels::kBlind : sim::GoodputModels::kByType;
  }
}

// With several types of GPU, models of speed are those that each job fits; and errors are of what is declared.
Status CheckKnown(const SchedRunOptions& options, const std::vector<ChosenPolicy>& policies,
                  const sim::ElasticCluster& cluster) {
  if (options.declared_error > 1 && options.known != "declared" && options.known != "steps") {
    return InvalidArgument(fmt::format(
        "--declared-error: with --known {} nobody declares lengths; use --known declared or steps", options.known));
  }
  if (options.has_loss_curves && options.known != "declared" && options.known != "history") {
    return InvalidArgument(
        fmt::format("--loss-curves: joined with what --known declared or history knows; found --known {}{}",
                    options.known, options.known == "learned" ? ", which is loss curves alone" : ""));
  }
  if (cluster.num_types() == 1 || options.known == "fitted") return OkStatus();
  if (LearnedOptionsOf(options)) {
    return InvalidArgument(
        fmt::format("--known {}: speeds are learned for one type of GPU, and --cluster {} has {}; use --known fitted, "
                    "oracle or speeds",
                    options.known, options.cluster, cluster.num_types()));
  }
  const auto chooser = std::ranges::find_if(policies, &ChosenPolicy::chooses_batches);
  if (chooser == policies.end()) return OkStatus();
  return InvalidArgument(fmt::format(
      "--known {}: the best batch is known for one type of GPU, and --cluster {} has {}; use --known fitted "
      "for the jobs of {}, or --choose-batch none",
      options.known, options.cluster, cluster.num_types(), chooser->policy->name()));
}

// Sees every decision about a workload. `sizes` must outlive it.
scheduling::DecisionObserver RecordSizes(std::vector<std::vector<HeldGpus>>* sizes) {
  return [sizes](const scheduling::AllocationSnapshot& snapshot, const scheduling::AllocationPlan& plan) {
    for (size_t i = 0; i < snapshot.jobs.size(); ++i) {
      std::vector<HeldGpus>& changes = sizes->at(snapshot.jobs[i].id.index());
      const auto num_gpus = static_cast<uint32_t>(plan.jobs[i].resources.num_gpus);
      const uint32_t before = changes.empty() ? 0 : changes.back().num_gpus;
      if (num_gpus != before) changes.push_back({snapshot.now.seconds().value(), num_gpus});
    }
  };
}

Result<SchedReport> RunAll(const SchedRunOptions& options) {
  FL_ASSIGN_OR_RETURN(const sim::ElasticCluster cluster, ParseCluster(options.cluster));
  FL_ASSIGN_OR_RETURN(const std::vector<ChosenPolicy> policies, CreatePolicies(options));
  FL_RETURN_IF_ERROR(CheckKnown(options, policies, cluster));
  std::vector<sim::WorkloadFile> workloads;
  SchedReport report{.workloads = options.workloads,
                     .layout = "",
                     .known = KnownWords(options),
                     .cluster = cluster,
                     .mtbf_h = options.mtbf_h,
                     .repair_h = options.repair_h,
                     .has_tenants = !options.tenants.empty(),
                     .runs = {}};
  for (const std::string& path : options.workloads) {
    FL_ASSIGN_OR_RETURN(sim::WorkloadFile workload, LoadWorkload(path, options, cluster));
    report.layout = sim::Name(workload.layout);
    report.num_jobs += workload.jobs().size();
    report.num_passed_over += workload.own.num_passed_over;
    workloads.push_back(std::move(workload));
  }
  sim::ElasticOptions simulation;
  simulation.cluster = cluster;
  simulation.interval_s = options.interval_s;
  simulation.restart_s = options.restart_s;
  simulation.checkpoint_s = options.checkpoint_s;
  simulation.learned = LearnedOptionsOf(options);
  if (options.mtbf_h) {
    simulation.node_events = sim::DrawNodeFailures(cluster.num_nodes(), {.mean_between_s = *options.mtbf_h * 3600,
                                                                         .repair_s = options.repair_h * 3600,
                                                                         .end_s = simulation.give_up_s,
                                                                         .seed = options.seed});
  }
  if (options.rules == "sia") sim::ApplySiaRules(&simulation);
  for (const ChosenPolicy& policy : policies) {
    SchedRun run{.policy = policy.label, .results = {}, .summary = {}, .wall_s = 0};
    const auto begin = std::chrono::steady_clock::now();
    for (const sim::WorkloadFile& workload : workloads) {
      std::vector<sim::ElasticJobSpec> jobs = workload.jobs();
      if (policy.chooses_batches) ChooseBatches(options, policy, cluster, &jobs);
      simulation.observer = {};
      if (run.results.empty()) {
        run.sizes.resize(jobs.size());
        simulation.observer = RecordSizes(&run.sizes);
      }
      FL_ASSIGN_OR_RETURN(sim::ElasticResult result,
                          sim::RunElasticSimulation(jobs, *policy.policy, simulation, &StopRequested()));
      if (StopRequested()) return Status(StatusCode::kCancelled, "stopped before the end");
      run.results.push_back(std::move(result));
    }
    run.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = sim::SummarizeRuns(run.results, cluster);
    report.runs.push_back(std::move(run));
  }
  return report;
}

int SchedRunCommand(const SchedRunOptions& options, const std::string& command_line) {
  StopRequested();
  auto files = OutputFiles::Prepare(options.output, {}, options.page);
  if (!files.ok()) return ReportError(files.status());
  const auto report = RunAll(options);
  if (!report.ok()) return ReportError(report.status());
  files->Print(RenderSched(*report));
  files->WriteJson("JSON", [&] { return RenderSchedJson(*report); });
  files->WritePage(options.page, [&] { return RenderSchedPage(*report, command_line); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

int SchedOptionsCommand(const std::vector<std::string>& policies) {
  report::TextTable table({{"policy"}, {"option"}, {"default", report::Align::kRight}, {"meaning"}});
  for (const std::string_view name : scheduling::AllocationPolicyNames()) {
    if (!policies.empty() && std::ranges::find(policies, name) == policies.end()) continue;
    for (const auto& option : scheduling::AllocationPolicyOptions(name)) {
      table.AddRow(
          {std::string(name), std::string(option.name), fmt::format("{}", option.value), std::string(option.help)});
    }
  }
  auto files = OutputFiles::Prepare({});
  if (!files.ok()) return ReportError(files.status());
  files->Print(table.empty() ? report::Document("These policies have no options.\n")
                             : report::Document(std::move(table)));
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

void AddRun(CLI::App& sched, Invocation* invocation) {
  auto options = std::make_shared<SchedRunOptions>();
  CLI::App* run = sched.add_subcommand("run", "Simulate a workload under one or more allocation policies.");
  run->add_option(
         "WORKLOAD", options->workloads,
         "Files of jobs, whose results are pooled: Pollux/AdaptDL, ElasticFlow, Tiresias, Helios or neutral CSV, a "
         "Gavel trace, or Philly's JSON log")
      ->required();
  run->add_option(
      "--profiles", options->profiles,
      "Measured speeds: folder of applications (or one that holds traces/), ElasticFlow's folder of speeds, "
      "Gavel's table; default: beside the workload");
  run->add_option("--layout", options->layout, "Layout of the workload; default: recognized from the file")
      ->check(OneOf(sim::WorkloadLayoutNames()));
  run->add_option("--gpu-type", options->gpu_type,
                  "Type of GPU where profiles have several (rtx, v100) and --cluster names none");
  run->add_option("--cluster", options->cluster,
                  "Nodes and GPUs of each; with several types of GPU, those of each type, named as its profiles are: "
                  "6x4:aws,2x8:dgx-ext,3x8:rtx reads placements-aws.csv and so on")
      ->type_name("NODESxGPUS[:TYPE],...")
      ->capture_default_str();
  run->add_option("--policy", options->policies, "Policies to compare")
      ->delimiter(',')
      ->check(OneOf(scheduling::AllocationPolicyNames()))
      ->capture_default_str();
  run->add_option("--set", options->settings,
                  "Set an option of all policies that have it, or of one: see fairlead sched options")
      ->type_name("[POLICY.]OPTION=NUMBER");
  run->add_option(
         "--tenants", options->tenants,
         "Share the cluster by weight among the tenants of the jobs (column tenant, or vc), and guarantee GPUs: "
         "what one does not use is lent, and taken back at once. Tenants that are not named have weight 1")
      ->delimiter(',')
      ->type_name("NAME:WEIGHT[:GPUS],...");
  run->add_option(
         "--known", options->known,
         "What policies know. declared: epochs that users declare, jobs that ended, speeds measured during "
         "the run; history: the same, but users declare nothing; oracle: true speeds and lengths; learned: "
         "lengths from loss curves; speeds: true speeds, no lengths; fitted: of jobs that choose their batch, "
         "what each learns of its speed while it trains, as in Pollux and Sia; else as oracle; steps: steps that "
         "users declare, and speeds that each job has shown itself, as with controller --slurm-elastic")
      ->check(OneOf(std::span<const std::string_view>(kKnown)))
      ->capture_default_str();
  run->add_option("--declared-share", options->declared_share,
                  "Share of jobs, drawn by the seed, whose length is declared or known; the others' never is")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  run->add_option(
         "--declared-error", options->declared_error,
         "Users err about lengths: what each declares is wrong by a factor of up to this, either way, drawn by "
         "the seed; jobs end early, or overrun")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  run->add_flag("--loss-curves", options->has_loss_curves,
                "Jobs write loss logs, too, drawn by the seed, and what a classifier and fitted curves make of them is "
                "joined with --known declared or history");
  CLI::Option* mtbf =
      run->add_option(
             "--mtbf-h", options->mtbf_h,
             "Hours that a node runs on the average until it fails; its jobs go back to their last checkpoint, and "
             "policies see the nodes that are left; default: none fails")
          ->check(CLI::Range(0.1, 1e6));
  run->add_option("--repair-h", options->repair_h, "Hours until a node that failed is back")
      ->needs(mtbf)
      ->check(CLI::Range(0.1, 1e4))
      ->capture_default_str();
  run->add_option("--checkpoint-s", options->checkpoint_s, "Seconds of training between two checkpoints")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  std::vector<std::string_view> choosers = scheduling::AllocationPolicyNames();
  choosers.emplace_back("none");
  run->add_option(
         "--choose-batch", options->batch_choosers,
         "Policies whose jobs train with the batch of greatest goodput, by true speeds (--known oracle or speeds) or "
         "those that they learn (fitted)")
      ->delimiter(',')
      ->check(OneOf(choosers))
      ->capture_default_str();
  run->add_option(
         "--rules", options->rules,
         "pollux: speeds as in profiles, restarts of --restart-s. sia: as in Sia's simulator, restarts and slower "
         "training by application, and moves to other nodes of a type at no cost")
      ->check(OneOf(std::span<const std::string_view>(kRules)))
      ->capture_default_str();
  run->add_option("--interval-s", options->interval_s, "Time between two decisions")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  run->add_option("--restart-s", options->restart_s, "Seconds that a restart costs, and the first start")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  run->add_option("--seed", options->seed, "Seed of policies and models that draw")->capture_default_str();
  run->add_option("--jobs", options->most_jobs, "Only the first N jobs; 0: all")->capture_default_str();
  AddOutputOptions(run, &options->output, "Write all results as JSON to FILE; - prints only JSON");
  AddPageOptions(run, &options->page);
  run->footer(
      "Example: fairlead sched run workload.csv --profiles pollux-osdi21 --policy aiturbo,tiresias --json out.json");
  run->callback([options, invocation] { invocation->exit_code = SchedRunCommand(*options, invocation->command_line); });
}

}  // namespace

void AddSchedCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* sched = app.add_subcommand("sched", "Simulate who gets how many GPUs, without a network.");
  sched->footer("Example: fairlead sched run workload.csv --policy aiturbo,tiresias");
  sched->require_subcommand(1);
  AddRun(*sched, invocation);
  auto policies = std::make_shared<std::vector<std::string>>();
  CLI::App* options = sched->add_subcommand("options", "List the options of each policy.");
  options->add_option("POLICY", *policies, "Policies; default: all")->check(OneOf(scheduling::AllocationPolicyNames()));
  options->footer("Example: fairlead sched options aiturbo");
  options->callback([policies, invocation] { invocation->exit_code = SchedOptionsCommand(*policies); });
}

}  // namespace fairlead::cli
