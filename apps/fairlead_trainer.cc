// fairlead-trainer [--ccl=plugin] PLAN.json: one worker of a training job in the lab. Records go to standard output.
//
// With --ccl=plugin it calls the profiler plugin that NCCL_PROFILER_PLUGIN names, as NCCL would
// (ccl/profiler/nccl_stand_in.h); RANK and FAIRLEAD_JOB are then those of the plan, unless they are set.
// FAIRLEAD_TRAINER_CONTROL names a file that makes it misbehave (lab/trainer/trainer_control.h). FAIRLEAD_GPU_COUNTERS
// names a folder for the counters of the GPUs that it emulates (shm/gpu_counters.h). With FAIRLEAD_TRAINER_PHASES=1
// records say when phases ran and compute was stalled (lab/trainer/trainer.h). SIGTERM and SIGINT end it cleanly;
// SIGUSR1 asks worker 0 for a checkpoint after the iteration that it is in, and other workers for nothing.
// Exit codes: 0 done or stopped, 2 usage, a bad plan, no plugin, 3 a peer was lost or not reached.
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_reader.h"
#include "ccl/profiler/nccl_stand_in.h"
#include "ccl/profiler/plugin_calls.h"
#include "lab/trainer/checkpoint.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/trainer.h"
#include "lab/trainer/trainer_plan.h"

namespace {

using fairlead::ccl::NcclStandIn;
using fairlead::lab::Protocol;
using fairlead::lab::TrainerPlan;
using fairlead::lab::TrainOptions;

constexpr int kExitBadInput = 2;
constexpr int kExitUnavailable = 3;
// Workers start one after the other, on a machine that may be busy.
constexpr double kConnectPatience = 60;
// NCCL does not notice that a peer has gone before InfiniBand gives up trying, which is after half a minute by default.
// Until then the job is stalled, so that its observers have something to detect.
constexpr double kNcclPatience = 30;

std::atomic<bool> stop_requested = false;

extern "C" void HandleStopSignal(int) { stop_requested.store(true, std::memory_order_relaxed); }

std::atomic<bool> checkpoint_wanted = false;

extern "C" void HandleCheckpointSignal(int) { checkpoint_wanted.store(true, std::memory_order_relaxed); }

int Fail(const fairlead::Status& status, int code) {
  fmt::print(stderr, "fairlead-trainer: {}\n", status.message());
  return code;
}

void PrintLine(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

struct Arguments {
  std::string plan;
  bool is_nccl_stand_in = false;
};

constexpr const char* kUsage =
    "Usage: fairlead-trainer [--ccl=plugin] PLAN.json\n"
    "One worker of a training job in the lab; fairlead lab run writes plans and starts workers.\n"
    "  --ccl=plugin  call the profiler plugin that NCCL_PROFILER_PLUGIN names, as NCCL would\n"
    "Example: fairlead lab exec h0 -- fairlead-trainer worker0.json\n";

// Nothing: they can't be understood.
std::optional<Arguments> ParseArguments(const std::vector<std::string_view>& args) {
  Arguments arguments;
  for (const std::string_view arg : args) {
    if (arg == "--ccl=plugin") {
      arguments.is_nccl_stand_in = true;
    } else if (arg.starts_with("-") || !arguments.plan.empty()) {
      return std::nullopt;
    } else {
      arguments.plan = arg;
    }
  }
  if (arguments.plan.empty()) return std::nullopt;
  return arguments;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fairlead::Result<TrainerPlan> ReadPlan(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, fairlead::ReadWholeFile(path));
  return fairlead::lab::ReadTrainerPlan(text, path);
}

// The plugin reads its variables when it is opened.
fairlead::Result<std::unique_ptr<NcclStandIn>> BeginNccl(const TrainerPlan& plan) {
  setenv("RANK", std::to_string(plan.worker).c_str(), 0);
  setenv("FAIRLEAD_JOB", plan.job.c_str(), 0);
  FL_ASSIGN_OR_RETURN(auto plugin, fairlead::ccl::LoadPlugin(std::getenv("NCCL_PROFILER_PLUGIN")));
  auto stand_in = std::make_unique<NcclStandIn>(plan, std::move(plugin));
  FL_RETURN_IF_ERROR(stand_in->Begin());
  return stand_in;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  const auto arguments = ParseArguments(args);
  if (!arguments) {
    const bool asks_for_help = args.size() == 1 && args[0] == "--help";
    fmt::print(asks_for_help ? stdout : stderr, "{}", kUsage);
    return asks_for_help ? 0 : kExitBadInput;
  }
  const auto plan = ReadPlan(arguments->plan);
  if (!plan.ok()) return Fail(plan.status(), kExitBadInput);
  // Before anything that takes time: the signal may come as soon as the job runs.
  std::signal(SIGUSR1, HandleCheckpointSignal);
  TrainOptions options{.control = Variable("FAIRLEAD_TRAINER_CONTROL"),
                       .checkpoint_wanted = &checkpoint_wanted,
                       .records_phases = Variable("FAIRLEAD_TRAINER_PHASES") == "1"};
  if (!plan->checkpoint.empty()) {
    const auto iteration = fairlead::lab::ReadCheckpoint(plan->checkpoint);
    if (!iteration.ok()) return Fail(iteration.status(), kExitBadInput);
    options.first_iteration = *iteration;
  }
  std::unique_ptr<NcclStandIn> stand_in;
  if (arguments->is_nccl_stand_in) {
    auto begun = BeginNccl(*plan);
    if (!begun.ok()) return Fail(begun.status(), kExitBadInput);
    stand_in = std::move(*begun);
    options.lost_peer_grace_s = kNcclPatience;
  }
  std::signal(SIGTERM, HandleStopSignal);
  std::signal(SIGINT, HandleStopSignal);
  auto connections =
      fairlead::lab::Connect(*plan, kConnectPatience, stop_requested, stand_in ? Protocol::kMessages : Protocol::kData);
  if (!connections.ok()) {
    return connections.status().code() == fairlead::StatusCode::kCancelled
               ? 0
               : Fail(connections.status(), kExitUnavailable);
  }
  std::optional<fairlead::lab::SimulatedGpus> gpus;
  if (const std::string folder = Variable("FAIRLEAD_GPU_COUNTERS"); !folder.empty()) {
    auto created = fairlead::lab::SimulatedGpus::Create(folder, plan->job, plan->num_gpus);
    if (!created.ok()) return Fail(created.status(), kExitUnavailable);
    gpus = std::move(*created);
    options.gpus = &*gpus;
  }
  PrintLine(fmt::format(R"({{"connected": {}}})", connections->size()));
  const fairlead::Status status =
      stand_in ? fairlead::ccl::TrainAsNccl(*plan, std::move(*connections), stop_requested, PrintLine, options,
                                            stand_in.get())
               : fairlead::lab::Train(*plan, std::move(*connections), stop_requested, PrintLine, options);
  return status.ok() ? 0 : Fail(status, kExitUnavailable);
}
