#include "experiments/lab-torch/torch_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

extern char** environ;

namespace fairlead::experiments::lab_torch {

namespace {

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kMasterPort = "29500";
constexpr size_t kLogTailBytes = 300;

// What it prints goes to the file.
Result<pid_t> Spawn(const std::vector<std::string>& args, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& arg : args) arguments.push_back(const_cast<char*>(arg.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = -1;
  const int error = posix_spawnp(&process, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Unavailable(fmt::format("{} can't be started: {}", args.front(), std::strerror(error)));
  return process;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> WordsOf(const TorchJobOptions& options, size_t rank) {
  return {options.program,
          "lab",
          "exec",
          "--run-dir",
          options.run_folder,
          "--name",
          options.lab,
          options.hosts[rank],
          "--",
          "env",
          "LD_PRELOAD=" + options.steering_library,
          "FAIRLEAD_JOB=torch",
          "FAIRLEAD_AGENT_SOCKET=" + options.agent_sockets[rank],
          fmt::format("RANK={}", rank),
          fmt::format("WORLD_SIZE={}", options.hosts.size()),
          "MASTER_ADDR=" + options.hosts[0],
          fmt::format("MASTER_PORT={}", kMasterPort),
          "OMP_NUM_THREADS=1",
          kPython,
          options.script,
          "--iterations",
          fmt::format("{}", options.iterations)};
}

}  // namespace

std::vector<TorchIteration> ParseIterations(std::string_view text) {
  std::vector<TorchIteration> iterations;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("begin_s") || !json["begin_s"].is_number() || !json.contains("seconds") ||
        !json["seconds"].is_number()) {
      continue;
    }
    iterations.push_back({json["begin_s"].get<double>(), json["seconds"].get<double>()});
  }
  return iterations;
}

double MeanWithin(const std::vector<TorchIteration>& iterations, double begin_s, double end_s) {
  double sum = 0;
  double count = 0;
  for (const TorchIteration& one : iterations) {
    if (one.begin_s < begin_s || one.begin_s + one.seconds > end_s) continue;
    sum += one.seconds;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

bool HasTorch() {
  const auto process = Spawn({kPython, "-c", "import torch, torch.distributed"}, "/dev/null");
  if (!process.ok()) return false;
  int status = 0;
  waitpid(*process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result<TorchJob> TorchJob::Start(const TorchJobOptions& options) {
  TorchJob job;
  job.log_ = options.log;
  for (size_t rank = 0; rank < options.hosts.size(); ++rank) {
    const std::string log = rank == 0 ? options.log : fmt::format("{}.{}", options.log, rank);
    FL_ASSIGN_OR_RETURN(const pid_t process, Spawn(WordsOf(options, rank), log));
    job.processes_.push_back(process);
  }
  return job;
}

TorchJob::TorchJob(TorchJob&& other) noexcept
    : log_(std::move(other.log_)), processes_(std::exchange(other.processes_, {})) {}

TorchJob::~TorchJob() {
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

std::vector<TorchIteration> TorchJob::Iterations() const { return ParseIterations(ReadAll(log_)); }

Status TorchJob::Check() {
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    if (waitpid(processes_[rank], nullptr, WNOHANG) == 0) continue;
    const std::string log = ReadAll(rank == 0 ? log_ : fmt::format("{}.{}", log_, rank));
    const std::string tail = log.substr(log.size() - std::min(log.size(), kLogTailBytes));
    processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(rank));
    return Unavailable(fmt::format("rank {} of the PyTorch job has ended: {}", rank, tail));
  }
  return OkStatus();
}

}  // namespace fairlead::experiments::lab_torch
