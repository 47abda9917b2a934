#include "sim/chaos/virtual_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace fairlead::sim::chaos {

using hosts::ConnectionEnd;

namespace {

constexpr uint16_t kFirstJobPort = 5000;
constexpr uint64_t kUnaskedOneIn = 50;
constexpr double kBytesPerSecond = 1e8;
constexpr SimDuration kUntilTraining(500'000'000);
constexpr SimDuration kUntilHostsAreFree(1'000'000'000);
constexpr SimDuration kExitKnownWithin(1'000'000);

}  // namespace

VirtualJobs::VirtualJobs(uint64_t seed, const VirtualJobsOptions& options,
                         hosts::VirtualConnections::Surroundings surroundings)
    : random_(seed),
      options_(options),
      queue_(*surroundings.queue),
      num_hosts_(static_cast<uint32_t>(surroundings.kernels.size())),
      jobs_(options.num_jobs),
      ended_(num_hosts_),
      connections_(&random_, kUnaskedOneIn, std::move(surroundings)) {
  for (uint32_t j = 0; j < options.num_jobs; ++j) {
    jobs_[j].name = fmt::format("job{}", j);
    queue_.After(Milliseconds(0, 10'000), [this, j] { StartJob(j, ChooseHosts()); });
  }
}

std::vector<uint32_t> VirtualJobs::ChooseHosts() {
  std::vector<uint32_t> hosts;
  for (uint32_t h = 0; h < num_hosts_ - options_.num_spares; ++h) {
    if (!isolated_.contains(h)) hosts.push_back(h);
  }
  if (hosts.size() < 2) return {};
  random_.Shuffle(std::span(hosts));
  hosts.resize(2 + random_.Below(std::min<size_t>(hosts.size(), 6) - 1));
  return hosts;
}

void VirtualJobs::StartJob(uint32_t j, std::vector<uint32_t> hosts) {
  Job& job = jobs_[j];
  if (job.is_running || job.is_held) return;
  if (hosts.empty()) {  // too few are free
    queue_.After(kUntilHostsAreFree, [this, j] { StartJob(j, ChooseHosts()); });
    return;
  }
  job.is_running = true;
  job.is_over = false;
  job.started_at = queue_.now();
  ++job.run;
  job.hosts_before = std::exchange(job.hosts, std::move(hosts));
  job.pids.assign(job.hosts.size(), 0);
  job.connections.clear();
  for (int32_t& pid : job.pids) pid = ++num_pids_;
  job.training = std::make_shared<TrainingRun>(job.name, random_(), job.pids, queue_.now() + kUntilTraining,
                                               Milliseconds(300, 1500));
  for (size_t place = 0; place < job.hosts.size(); ++place) {
    for (uint64_t i = 1 + random_.Below(2); i > 0; --i) {
      queue_.After(Milliseconds(0, 300), [this, j, run = job.run, place] { Open(j, run, place); });
    }
  }
  if (random_.Below(2) == 0) {
    queue_.After(Milliseconds(5'000, 40'000), [this, j, run = job.run] {
      if (jobs_[j].run != run || options_.calm_at <= queue_.now()) return;
      EndJob(j, jobs_[j].training->is_stalled() ? Ending::kTerminated : Ending::kFinished, /*starts_again=*/true);
    });
  }
}

void VirtualJobs::EndJob(uint32_t j, Ending ending, bool starts_again) {
  Job& job = jobs_[j];
  if (!std::exchange(job.is_running, false)) return;
  job.is_over = ending == Ending::kFinished;
  for (size_t place = 0; place < job.pids.size(); ++place) EndProcess(j, place, ending);
  if (starts_again) queue_.After(Milliseconds(10, 5'000), [this, j] { StartJob(j, ChooseHosts()); });
}

void VirtualJobs::EndProcess(uint32_t j, size_t place, Ending ending) {
  Job& job = jobs_[j];
  const int32_t pid = std::exchange(job.pids[place], 0);
  if (pid == 0) return;
  const bool is_regular = ending == Ending::kFinished;
  ended_[job.hosts[place]].push_back({.training = job.training,
                                      .rank = place,
                                      .at = queue_.now(),
                                      .code = is_regular ? 0 : (ending == Ending::kKilled ? -SIGKILL : -SIGTERM),
                                      .end = is_regular ? model::ProcessEnd::kRegular : model::ProcessEnd::kBroken});
  for (const uint64_t number : std::vector(job.connections)) {
    const hosts::VirtualConnection& connection = connections_.all()[number];
    if (connection.client.pid == pid || connection.server.pid == pid) Close(j, number);
  }
}

void VirtualJobs::Break(uint32_t j, size_t place) {
  Job& job = jobs_[j];
  queue_.Log([&] { return fmt::format("{} is broken on h{}", job.name, job.hosts[place]); });
  broken_.push_back({job.name, job.hosts[place], queue_.now()});
  job.training->Stall(place, queue_.now());
  const bool has_good_launcher = random_.Below(2) == 0;
  const SimDuration patience = has_good_launcher ? Milliseconds(100, 3'000) : Milliseconds(15'000, 35'000);
  queue_.After(patience, [this, j, run = job.run] {
    if (jobs_[j].run == run) EndJob(j, Ending::kTerminated, /*starts_again=*/true);
  });
}

std::optional<std::pair<uint32_t, size_t>> VirtualJobs::FindProcess(uint32_t host) const {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    for (size_t place = 0; place < jobs_[j].hosts.size(); ++place) {
      if (jobs_[j].is_running && jobs_[j].hosts[place] == host && jobs_[j].pids[place] != 0) return {{j, place}};
    }
  }
  return std::nullopt;
}

void VirtualJobs::KillProcess(uint32_t host) {
  const auto process = FindProcess(host);
  if (!process.has_value()) return;
  Break(process->first, process->second);
  EndProcess(process->first, process->second, Ending::kKilled);
}

void VirtualJobs::HangProcess(uint32_t host) {
  const auto process = FindProcess(host);
  if (process.has_value()) Break(process->first, process->second);
}

void VirtualJobs::HostDied(uint32_t host) {
  while (const auto process = FindProcess(host)) {
    Break(process->first, process->second);
    EndProcess(process->first, process->second, Ending::kKilled);
  }
  ended_[host].clear();  // nobody saw it
  connections_.AgentDied(HostId(host));
}

std::vector<telemetry::SeenProcess> VirtualJobs::Look(uint32_t host, SimTime since, SimDuration clock) {
  std::vector<telemetry::SeenProcess> seen;
  for (const Job& job : jobs_) {
    for (size_t place = 0; place < job.hosts.size(); ++place) {
      if (!job.is_running || job.hosts[place] != host || job.pids[place] == 0) continue;
      seen.push_back({.state = model::ProcessState::kRunning,
                      .exit = {},
                      .report = job.training->Report(place, since, queue_.now(), clock)});
    }
  }
  for (const Ended& ended : std::exchange(ended_[host], {})) {
    seen.push_back({.state = model::ProcessState::kGone,
                    .exit = {.code = ended.code, .end = ended.end, .at = ended.at + clock, .within = kExitKnownWithin},
                    .report = ended.training->Report(ended.rank, since, ended.at, clock)});
    seen.back().report.at = queue_.now() + clock;
  }
  return seen;
}

// ---- Of steering ----

void VirtualJobs::SetIsolated(uint32_t host, bool is_isolated) {
  if (is_isolated) {
    isolated_.insert(host);
  } else {
    isolated_.erase(host);
  }
}

std::optional<uint32_t> VirtualJobs::FindJob(std::string_view name) const {
  const auto found = std::ranges::find(jobs_, name, &Job::name);
  if (found == jobs_.end()) return std::nullopt;
  return static_cast<uint32_t>(found - jobs_.begin());
}

void VirtualJobs::Stop(std::string_view job) {
  const std::optional<uint32_t> j = FindJob(job);
  if (!j.has_value() || jobs_[*j].is_over) return;
  jobs_[*j].is_held = true;
  EndJob(*j, Ending::kTerminated, /*starts_again=*/false);
}

void VirtualJobs::Restart(std::string_view job, std::vector<uint32_t> hosts) {
  const std::optional<uint32_t> j = FindJob(job);
  if (!j.has_value()) return;
  jobs_[*j].is_held = false;
  StartJob(*j, std::move(hosts));
}

std::vector<VirtualJobs::State> VirtualJobs::States() const {
  std::vector<State> states;
  for (const Job& job : jobs_) {
    states.push_back({.name = job.name,
                      .is_running = job.is_running,
                      .is_held = job.is_held,
                      .is_broken = job.training != nullptr && job.training->is_stalled(),
                      .started_at = job.started_at,
                      .hosts = job.hosts,
                      .hosts_before = job.hosts_before,
                      .communicator = job.training == nullptr ? 0 : job.training->communicator()});
  }
  return states;
}

bool VirtualJobs::HasBroken(std::string_view job, std::optional<uint32_t> host, SimTime since) const {
  return std::ranges::any_of(broken_, [&](const Broken& one) {
    return one.job == job && since <= one.at && (!host.has_value() || one.host == *host);
  });
}

// ---- Connections ----

void VirtualJobs::Open(uint32_t j, uint64_t run, size_t place) {
  Job& job = jobs_[j];
  const size_t next = (place + 1) % job.hosts.size();
  if (job.run != run || job.pids[place] == 0 || job.pids[next] == 0) return;
  if (job.hosts[place] == job.hosts[next]) return;  // inside of a host there is no network
  const bool sends_back = connections_.all().size() % 4 == 0;
  // Hosts have one NIC each; host and NIC have the same number.
  const auto end_at = [&](size_t at, double bytes_per_second) {
    return ConnectionEnd{.host = HostId(job.hosts[at]),
                         .nic = NicId(job.hosts[at]),
                         .pid = job.pids[at],
                         .bytes_per_second = bytes_per_second};
  };
  const uint64_t number = connections_.Open({.job = job.name,
                                             .client = end_at(place, kBytesPerSecond),
                                             .server = end_at(next, sends_back ? kBytesPerSecond : 0),
                                             .destination_port = static_cast<uint16_t>(kFirstJobPort + j)});
  job.connections.push_back(number);
  if (random_.Below(3) != 0) return;
  queue_.After(Milliseconds(1'000, 20'000), [this, j, run, place, number] {
    if (options_.calm_at <= queue_.now()) return;
    Close(j, number);
    Open(j, run, place);
  });
}

void VirtualJobs::Close(uint32_t j, uint64_t connection) {
  connections_.Close(connection);
  std::erase(jobs_[j].connections, connection);
}

std::vector<agent::GpuSums> VirtualJobs::GpusOf(uint32_t host) const {
  std::vector<agent::GpuSums> sums;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    if (!job.is_running || std::ranges::count(job.hosts, host) == 0) continue;
    const Seconds ran = (queue_.now() - job.started_at).seconds();
    sums.push_back({.job = job.name,
                    .num_gpus = 1,
                    .flop = Flop(ran.value() * 1e12 * static_cast<double>(1 + j)),
                    .busy = Seconds(ran.value() / 2)});
  }
  return sums;
}

}  // namespace fairlead::sim::chaos
