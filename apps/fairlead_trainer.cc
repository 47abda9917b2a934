// fairlead-trainer PLAN.json: one worker of a training job in the lab. Records go to standard output.
//
// FAIRLEAD_GPU_COUNTERS names a folder for the counters of the GPUs that it plays (shm/gpu_counters.h).
// SIGTERM and SIGINT end it cleanly. Exit codes: 0 done or stopped, 2 usage or a bad plan, 3 a peer was lost or not
// reached.
#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "lab/trainer/connections.h"
#include "lab/trainer/trainer.h"
#include "lab/trainer/trainer_plan.h"

namespace {

constexpr int kExitBadInput = 2;
constexpr int kExitUnavailable = 3;
// Workers start one after the other, on a machine that may be busy.
constexpr double kConnectPatience = 60;

std::atomic<bool> stop_requested = false;

extern "C" void HandleStopSignal(int) { stop_requested.store(true, std::memory_order_relaxed); }

int Fail(const fairlead::Status& status, int code) {
  fmt::print(stderr, "fairlead-trainer: {}\n", status.message());
  return code;
}

void PrintLine(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using fairlead::StatusCode;
  const std::string path = argc == 2 ? argv[1] : "";
  if (path.empty() || path == "--help") {
    fmt::print(path.empty() ? stderr : stdout,
               "Usage: fairlead-trainer PLAN.json\n"
               "One worker of a training job in the lab; fairlead lab run writes plans and starts workers.\n"
               "Example: fairlead lab exec h0 -- fairlead-trainer worker0.json\n");
    return path.empty() ? kExitBadInput : 0;
  }
  std::ifstream file(path);
  if (!file) return Fail(fairlead::NotFound(path + ": can't be read"), kExitBadInput);
  std::ostringstream text;
  text << file.rdbuf();
  const auto plan = fairlead::lab::ReadTrainerPlan(text.str(), path);
  if (!plan.ok()) return Fail(plan.status(), kExitBadInput);
  std::signal(SIGTERM, HandleStopSignal);
  std::signal(SIGINT, HandleStopSignal);
  auto connections = fairlead::lab::Connect(*plan, kConnectPatience, stop_requested);
  if (!connections.ok()) {
    return connections.status().code() == StatusCode::kCancelled ? 0 : Fail(connections.status(), kExitUnavailable);
  }
  std::optional<fairlead::lab::PlayedGpus> gpus;
  if (const char* folder = std::getenv("FAIRLEAD_GPU_COUNTERS"); folder != nullptr && *folder != '\0') {
    auto played = fairlead::lab::PlayedGpus::Create(folder, plan->job, plan->num_gpus);
    if (!played.ok()) return Fail(played.status(), kExitUnavailable);
    gpus = std::move(*played);
  }
  PrintLine(fmt::format(R"({{"connected": {}}})", connections->size()));
  const fairlead::Status status =
      fairlead::lab::Train(*plan, std::move(*connections), stop_requested, PrintLine, gpus ? &*gpus : nullptr);
  return status.ok() ? 0 : Fail(status, kExitUnavailable);
}
