// fairlead lab up|status|fault|exec|down: an emulated fabric of network namespaces on this machine. The other commands
// of `lab` have their own files.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/steady_seconds.h"
#include "cli/command.h"
#include "cli/lab_services.h"
#include "cli/lab_subcommands.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "lab/cable_changes.h"
#include "lab/lab.h"
#include "lab/lab_counters.h"
#include "lab/lab_report.h"
#include "lab/lab_slurm.h"
#include "lab/lab_source.h"
#include "lab/namespace_command.h"
#include "report/json_value.h"
#include "traffic/live_policy.h"

namespace fairlead::cli {

namespace {

// Of `lab up --page`: a free port is looked for.
constexpr std::string_view kAnyPage = "any";

struct LabCommandOptions {
  std::string run_folder = lab::DefaultRunFolder();
  std::string name = "lab";
  std::string file;
  lab::LabOptions lab;
  bool is_bare = false;
  bool has_slurm = false;
  std::vector<std::string> spares;
  std::string page = std::string(kAnyPage);
  std::string policy = "crux+c4p";
  OutputOptions output;
  double interval_s = 0.5;
  bool all = false;
  std::string cable;
  double health = 0;
  std::string side = "both";
  std::string node;
  std::vector<std::string> args;
};

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What runs in a lab that is up: Slurm, controller and agents. Returns the address of the page.
Result<std::string> StartInLab(const LabCommandOptions& options, const lab::LabState& state,
                               const topology::Fabric& fabric, const lab::LabFolder& folder) {
  if (options.has_slurm) FL_RETURN_IF_ERROR(StartLabSlurm(state, fabric, folder, options.spares));
  if (options.is_bare) return std::string("none");
  return StartLabServices(
      state, fabric, folder,
      {.page = options.page, .policy = options.policy, .has_slurm = options.has_slurm, .spares = options.spares});
}

int LabUp(const LabCommandOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (options.has_slurm) {
    if (const Status status = lab::CheckSlurm(); !status.ok()) return ReportError(status);
  } else if (!options.spares.empty()) {
    return ReportError(InvalidArgument("--spares: spare hosts are kept by Slurm; expected --slurm beside it"));
  }
  const std::atomic<bool>& stop = StopRequested();
  const std::string path = FindInputFile(options.file);
  const auto fabric = lab::LoadLabFabric(path);
  if (!fabric.ok()) return ReportError(fabric.status());
  const auto policy = traffic::FindLivePolicy(options.policy);
  if (!policy.ok()) return ReportError(policy.status());
  const auto plan = lab::PlanLab(*fabric, options.lab);
  if (!plan.ok()) return ReportError(plan.status());
  const auto folder = lab::LabFolder::Open(options.run_folder, options.name);
  if (!folder.ok()) return ReportError(folder.status());
  const auto state = lab::BringUp(*folder, std::filesystem::absolute(path).string(), *plan, stop);
  if (!state.ok()) {
    const int code = ReportError(state.status());
    return stop ? InterruptedExitCode() : code;
  }
  const auto page = StartInLab(options, *state, *fabric, *folder);
  if (!page.ok()) {
    const int code = ReportError(page.status());
    bool was_up = false;
    static_cast<void>(lab::TakeDown(*folder, &was_up).ok());
    return stop ? InterruptedExitCode() : code;
  }
  fmt::print("{0}up after {1:.1f} s; next: {2} lab run SCENARIO.yaml, {2} lab status, {2} lab down\n",
             lab::DescribeLab(*state), SecondsSince(begin), CalledAs());
  if (!options.is_bare) fmt::print("controller and agents are running; page: {}\n", *page);
  if (options.has_slurm) {
    fmt::print("Slurm is running: {0}/bin/squeue, {0}/bin/sbatch, …; a job for it: {0}/train.sh\n",
               lab::SlurmFolder(folder->path()));
  }
  return kExitOk;
}

Result<lab::LabLook> LookAt(const lab::LabState& state, double interval_s) {
  lab::LabLook look;
  FL_ASSIGN_OR_RETURN(look.before, lab::ReadCounters(state));
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
  FL_ASSIGN_OR_RETURN(look.now, lab::ReadCounters(state));
  look.interval_s = SecondsSince(begin);
  return look;
}

int LabStatus(const LabCommandOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto state = lab::LabFolder::Look(options.run_folder, options.name);
  if (!state.ok()) {
    const int code = ReportError(state.status());
    const auto others = lab::LabFolder::List(options.run_folder);
    for (const std::string& other : others) fmt::print(stderr, "up here: --name {}\n", other);
    return state.status().code() == StatusCode::kNotFound ? kExitNo : code;
  }
  const auto look = LookAt(*state, options.interval_s);
  if (!look.ok()) return ReportError(look.status());
  files->Print(lab::RenderStatus(*state, *look, options.all));
  files->WriteJson("JSON", [&] { return report::Dump(lab::StatusJson(*state, *look)); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

// One direction of a cable: what its lower or its upper end sends.
int SlowSide(const LabCommandOptions& options, const lab::LabState& state, lab::CableId cable,
             const std::string& lab_folder) {
  if (options.health <= 0) {
    return ReportError(InvalidArgument("--side: a cable is cut in both directions; expected a --health above 0"));
  }
  const size_t end = options.side == "up" ? 0 : 1;
  const double at_s = SteadySeconds();
  const Status status = lab::SetEndSpeed(state, cable, end, options.health);
  if (!status.ok()) return ReportError(status);
  const Status noted = lab::NoteCableChange(lab_folder, {at_s, lab::CableName(state.plan, cable), end, options.health});
  if (!noted.ok()) return ReportError(noted);
  fmt::print("{}: what {} sends has {:g} of its speed\n", lab::CableName(state.plan, cable),
             state.plan.nodes[state.plan.cables[cable].ends[end].node].name, options.health);
  return kExitOk;
}

int LabFault(const LabCommandOptions& options) {
  const auto folder = lab::LabFolder::Open(options.run_folder, options.name);
  if (!folder.ok()) return ReportError(folder.status());
  auto state = folder->Load();
  if (!state.ok()) return ReportError(state.status());
  const lab::CableId cable = lab::FindCable(state->plan, options.cable);
  if (!cable.valid()) {
    return ReportError(InvalidArgument(fmt::format(
        "lab '{}' has no cable '{}'; expected a name like '{}' (fairlead lab status --all lists them)", options.name,
        options.cable, lab::CableName(state->plan, lab::CableId(state->plan.cables.size() - 1)))));
  }
  const auto begin = std::chrono::steady_clock::now();
  if (options.side != "both") return SlowSide(options, *state, cable, folder->path());
  const Status status = lab::SetCableHealth(*folder, &*state, cable, options.health);
  if (!status.ok()) return ReportError(status);
  fmt::print("{} {}; routes follow after {:.0f} ms\n", lab::CableName(state->plan, cable),
             options.health <= 0   ? std::string("is cut")
             : options.health == 1 ? std::string("is healthy")
                                   : fmt::format("has {:g} of its speed", options.health),
             SecondsSince(begin) * 1e3);
  return kExitOk;
}

// The command takes the place of a child of this process, inside the lab, and ends with it.
int LabExec(const LabCommandOptions& options) {
  const auto state = lab::LabFolder::Look(options.run_folder, options.name);
  if (!state.ok()) return ReportError(state.status());
  const std::string hosts_file = lab::LabFolder::HostsFileOf(options.run_folder, options.name);
  const lab::LabNodeId node = lab::FindNode(state->plan, options.node);
  if (!node.valid()) {
    return ReportError(InvalidArgument(fmt::format("lab '{}' has no host or switch '{}'; expected a name like '{}'",
                                                   options.name, options.node, state->plan.nodes.raw().front().name)));
  }
  const pid_t child = fork();
  if (child == 0) {
    int error = lab::EnterNode(state->keeper, node);
    if (error == 0) error = lab::EnterProcesses(state->keeper);
    if (error != 0) _exit(ReportError(Unavailable(fmt::format("can't enter the lab: {}", std::strerror(error)))));
    const pid_t inner = fork();
    if (inner == 0) {
      lab::SettleIn(options.node, hosts_file);
      std::vector<char*> args;
      for (const std::string& word : options.args) args.push_back(const_cast<char*>(word.c_str()));
      args.push_back(nullptr);
      execvp(args.front(), args.data());
      _exit(ReportError(NotFound(fmt::format("{}: {}", args.front(), std::strerror(errno)))));
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int TakeOneDown(const LabCommandOptions& options, const std::string& name) {
  const auto folder = lab::LabFolder::Open(options.run_folder, name);
  if (!folder.ok()) return ReportError(folder.status());
  bool was_up = false;
  const Status status = lab::TakeDown(*folder, &was_up);
  if (!status.ok()) return ReportError(status);
  fmt::print("lab '{}' {}\n", name, was_up ? "is down" : "was not up");
  return kExitOk;
}

int LabDown(const LabCommandOptions& options) {
  if (!options.all) return TakeOneDown(options, options.name);
  int code = kExitOk;
  for (const std::string& name : lab::LabFolder::List(options.run_folder)) {
    code = std::max(code, TakeOneDown(options, name));
  }
  return code;
}

using OptionsPointer = std::shared_ptr<LabCommandOptions>;

CLI::App* AddLabCommand(CLI::App* lab, const char* name, const char* what, const OptionsPointer& options) {
  CLI::App* command = lab->add_subcommand(name, what);
  command->add_option("--name", options->name, "Name of the lab; several can be up")->capture_default_str();
  command->add_option("--run-dir", options->run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  return command;
}

void AddUp(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabCommandOptions>();
  CLI::App* up = AddLabCommand(lab, "up", "Create the hosts, leaves, spines and cables of a fabric.", options);
  up->add_option("FILE", options->file, "Fabric or scenario in YAML")->required();
  up->add_option("--scale", options->lab.scale, "Factor on all speeds: 0.001 turns 200 Gb/s into 200 Mb/s")
      ->capture_default_str();
  up->add_option("--seed", options->lab.hash_seed, "Seed of the switches' ECMP hashes")->capture_default_str();
  up->add_option("--queues", options->lab.queues_per_level, "Fair queues in a level: 1, 2, 4, … 64; 0: by size")
      ->capture_default_str();
  up->add_option("--convergence-ms", options->lab.convergence_ms,
                 "Milliseconds until routes follow a cut or repaired cable")
      ->capture_default_str();
  up->add_flag("--bare", options->is_bare, "Only hosts, switches and cables, without controller and agents");
  up->add_option("--page", options->page, "Address of the controller's page; any: a free port on 127.0.0.1")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  up->add_option("--policy", options->policy,
                 "Controller's policy: ecmp (no control), c4p (paths), crux-levels (priorities), crux+c4p (both)")
      ->check(OneOf(traffic::LivePolicyNames()))
      ->capture_default_str();
  up->add_flag("--slurm", options->has_slurm, "Make the hosts nodes of a Slurm of their own, as root");
  up->add_option("--spares", options->spares, "With --slurm, hosts that are kept to replace broken ones")
      ->delimiter(',')
      ->type_name("HOST,...");
  up->footer("Example: fairlead lab up scenarios/lab-eight-jobs.yaml --scale 0.0005");
  up->callback([options, invocation] { invocation->exit_code = LabUp(*options); });
}

void AddStatus(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabCommandOptions>();
  CLI::App* status =
      AddLabCommand(lab, "status", "Show what is up, what is cut, and the traffic of each cable.", options);
  status->add_flag("--all", options->all, "Show the cables of hosts, too");
  status->add_option("--interval", options->interval_s, "Seconds over which speeds are measured")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  AddOutputOptions(status, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  status->footer("Example: fairlead lab status --all\nExit code 1: no such lab.");
  status->callback([options, invocation] { invocation->exit_code = LabStatus(*options); });
}

void AddFault(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabCommandOptions>();
  CLI::App* fault =
      AddLabCommand(lab, "fault", "Cut, slow down or repair a cable, in both directions or in one.", options);
  fault->add_option("CABLE", options->cable, "Such as leaf0-spine3 or h2/nic0-leaf1")->required();
  fault->add_option("--health", options->health, "Remaining share of its speed: 0 cuts it, 1 repairs it")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  fault->add_option("--side", options->side, "Only the direction up (from a host) or down; `status` does not show it")
      ->check(OneOf({"both", "up", "down"}))
      ->capture_default_str();
  fault->footer(
      "Example: fairlead lab fault leaf0-spine3 --health 0.25\n"
      "         fairlead lab fault h2/nic0-leaf0 --health 0.5 --side up    the NIC of h2 sends slowly");
  fault->callback([options, invocation] { invocation->exit_code = LabFault(*options); });
}

void AddExec(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabCommandOptions>();
  CLI::App* exec =
      AddLabCommand(lab, "exec", "Run a command in a host or switch of a lab; it ends with the lab.", options);
  exec->add_option("NODE", options->node, "Such as h0 or leaf3")->required();
  exec->add_option("COMMAND", options->args, "Program and arguments")->required();
  exec->prefix_command();
  exec->footer("Example: fairlead lab exec leaf0 -- ip route");
  exec->callback([options, exec, invocation] {
    for (const std::string& word : exec->remaining()) {
      if (word != "--") options->args.push_back(word);
    }
    invocation->exit_code = LabExec(*options);
  });
}

void AddDown(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabCommandOptions>();
  CLI::App* down =
      AddLabCommand(lab, "down", "Stop everything in a lab and remove it; does nothing if it is not up.", options);
  down->add_flag("--all", options->all, "All labs of the run folder");
  down->footer("Example: fairlead lab down");
  down->callback([options, invocation] { invocation->exit_code = LabDown(*options); });
}

}  // namespace

void AddLabCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* lab =
      app.add_subcommand("lab", "Emulate a fabric in network namespaces of this machine, with real TCP traffic.");
  lab->footer("Example: fairlead lab demo");
  lab->require_subcommand(1);
  AddUp(lab, invocation);
  AddStatus(lab, invocation);
  AddFault(lab, invocation);
  AddLabRunCommand(lab, invocation);
  AddExec(lab, invocation);
  AddDown(lab, invocation);
  AddLabDemoCommand(lab, invocation);
  AddLabDiagnoseCommand(lab, invocation);
  AddLabHookCommand(lab, invocation);
  AddLabPlanCommand(lab, invocation);
  AddLabSlurmCommand(lab, invocation);
}

}  // namespace fairlead::cli
