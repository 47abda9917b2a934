#include "sim/chaos/virtual_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::sim::chaos {

using hosts::ConnectionEnd;

namespace {

constexpr uint16_t kFirstJobPort = 5000;
constexpr uint64_t kUnaskedOneIn = 50;
constexpr double kBytesPerSecond = 1e8;

}  // namespace

VirtualJobs::VirtualJobs(uint64_t seed, uint32_t num_jobs, SimTime calm_at,
                         hosts::VirtualConnections::Surroundings surroundings)
    : random_(seed),
      calm_at_(calm_at),
      queue_(*surroundings.queue),
      num_hosts_(static_cast<uint32_t>(surroundings.kernels.size())),
      jobs_(num_jobs),
      connections_(&random_, kUnaskedOneIn, std::move(surroundings)) {
  for (uint32_t j = 0; j < num_jobs; ++j) {
    jobs_[j].name = fmt::format("job{}", j);
    queue_.After(Milliseconds(0, 10'000), [this, j] { StartJob(j); });
  }
}

void VirtualJobs::StartJob(uint32_t j) {
  Job& job = jobs_[j];
  if (job.is_running) return;
  job.is_running = true;
  job.started_at = queue_.now();
  ++job.run;
  std::vector<uint32_t> hosts(num_hosts_);
  for (uint32_t h = 0; h < hosts.size(); ++h) hosts[h] = h;
  random_.Shuffle(std::span(hosts));
  hosts.resize(2 + random_.Below(std::min<size_t>(hosts.size(), 6) - 1));
  job.hosts = std::move(hosts);
  job.pids.assign(job.hosts.size(), 0);
  job.connections.clear();
  for (int32_t& pid : job.pids) pid = ++num_pids_;
  for (size_t place = 0; place < job.hosts.size(); ++place) {
    for (uint64_t i = 1 + random_.Below(2); i > 0; --i) {
      queue_.After(Milliseconds(0, 300), [this, j, run = job.run, place] { Open(j, run, place); });
    }
  }
  if (random_.Below(2) == 0) {
    queue_.After(Milliseconds(5'000, 40'000), [this, j, run = job.run] {
      if (jobs_[j].run == run && queue_.now() < calm_at_) EndJob(j, /*starts_again=*/true);
    });
  }
}

void VirtualJobs::EndJob(uint32_t j, bool starts_again) {
  Job& job = jobs_[j];
  if (!std::exchange(job.is_running, false)) return;
  for (size_t place = 0; place < job.pids.size(); ++place) EndProcess(j, place);
  if (starts_again) queue_.After(Milliseconds(10, 5'000), [this, j] { StartJob(j); });
}

void VirtualJobs::EndProcess(uint32_t j, size_t place) {
  Job& job = jobs_[j];
  const int32_t pid = std::exchange(job.pids[place], 0);
  if (pid == 0) return;
  for (const uint64_t number : std::vector(job.connections)) {
    const hosts::VirtualConnection& connection = connections_.all()[number];
    if (connection.client.pid == pid || connection.server.pid == pid) Close(j, number);
  }
}

void VirtualJobs::KillProcess(uint32_t host) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    for (size_t place = 0; place < jobs_[j].hosts.size(); ++place) {
      if (!jobs_[j].is_running || jobs_[j].hosts[place] != host || jobs_[j].pids[place] == 0) continue;
      EndProcess(j, place);
      queue_.After(Milliseconds(100, 3'000), [this, j, run = jobs_[j].run] {
        if (jobs_[j].run == run) EndJob(j, /*starts_again=*/true);
      });
      return;
    }
  }
}

void VirtualJobs::HostDied(uint32_t host) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const bool was_there = jobs_[j].is_running && std::ranges::count(jobs_[j].hosts, host) > 0;
    if (was_there) EndJob(j, /*starts_again=*/true);
  }
  connections_.AgentDied(HostId(host));
}

void VirtualJobs::Open(uint32_t j, uint64_t run, size_t place) {
  Job& job = jobs_[j];
  const size_t next = (place + 1) % job.hosts.size();
  if (job.run != run || job.pids[place] == 0 || job.pids[next] == 0) return;
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
    if (calm_at_ <= queue_.now()) return;
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
