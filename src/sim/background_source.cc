#include "sim/background_source.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace fairlead::sim {
namespace {

// Prompts are no longer, whatever the tail of their distribution says.
constexpr double kMostTokens = 1e7;

// By Box and Muller: two draws for each, so that all standard libraries draw the same.
double StandardNormal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.Uniform());
}

// One phase without compute, of flows that move on their own.
class MessageBuilder {
 public:
  explicit MessageBuilder(std::string name) { iteration_.phases.push_back({.name = std::move(name), .num_steps = 1}); }

  void Add(GpuId source, GpuId destination, Bytes bytes) {
    iteration_.flows.push_back({source, destination, bytes, iteration_.num_groups++});
    ++iteration_.phases.front().num_flows;
  }
  model::Iteration Take() && { return std::move(iteration_); }

 private:
  model::Iteration iteration_;
};

GpuId GpuOf(const topology::Fabric& fabric, HostId host, uint32_t index) { return fabric.gpu(host, index); }

}  // namespace

std::vector<HostId> BackgroundSpec::Hosts() const {
  std::vector<HostId> hosts = storage;
  for (const KvTransfers& transfers : kv_transfers) {
    hosts.insert(hosts.end(), transfers.from.begin(), transfers.from.end());
    hosts.insert(hosts.end(), transfers.to.begin(), transfers.to.end());
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

BackgroundSource::BackgroundSource(const BackgroundSpec& spec, const topology::Fabric& fabric, uint64_t seed)
    : spec_(spec), fabric_(fabric) {
  for (size_t stream = 0; stream < spec_.kv_transfers.size(); ++stream) {
    Random random(CombineHash(seed, stream));
    const Seconds first(random.Exponential(1 / spec_.kv_transfers[stream].per_s));
    arrivals_.push_back({random, SimTime::FromSeconds(first)});
  }
}

void BackgroundSource::BeginJob(JobId job, const model::Placement& placement, SimTime start) {
  const auto writes = spec_.checkpoints.find(job);
  if (writes != spec_.checkpoints.end()) writers_[job] = {placement, start + writes->second.interval};
}

void BackgroundSource::EndWrite(JobId job) {
  if (const auto writer = writers_.find(job); writer != writers_.end()) writer->second.is_writing = false;
}

SimTime BackgroundSource::Next() const {
  SimTime next = SimTime::Never();
  for (const Arrivals& arrivals : arrivals_) next = std::min(next, arrivals.next);
  for (const auto& [job, writer] : writers_) next = std::min(next, writer.next);
  return next;
}

std::vector<BackgroundMessage> BackgroundSource::Take(SimTime now) {
  std::vector<BackgroundMessage> messages;
  for (size_t stream = 0; stream < arrivals_.size(); ++stream) {
    while (arrivals_[stream].next <= now) messages.push_back(TakeRequest(stream));
  }
  for (auto& [job, writer] : writers_) {
    if (writer.next > now) continue;
    writer.next = writer.next + spec_.checkpoints.at(job).interval;
    if (writer.is_writing) {
      ++num_skipped_;
      continue;
    }
    writer.is_writing = true;
    messages.push_back(Write(job, writer));
  }
  return messages;
}

BackgroundMessage BackgroundSource::TakeRequest(size_t stream) {
  const KvTransfers& transfers = spec_.kv_transfers[stream];
  Arrivals& arrivals = arrivals_[stream];
  arrivals.next = arrivals.next + SimDuration::FromSeconds(Seconds(arrivals.random.Exponential(1 / transfers.per_s)));
  const double tokens = transfers.median_tokens * std::exp(transfers.sigma * StandardNormal(arrivals.random));
  const HostId from = transfers.from[arrivals.random.Below(transfers.from.size())];
  const HostId to = transfers.to[arrivals.random.Below(transfers.to.size())];
  const uint32_t width = std::min(fabric_.num_gpus_of(from), fabric_.num_gpus_of(to));
  const Bytes bytes = transfers.bytes_per_token * std::clamp(std::round(tokens), 1.0, kMostTokens);
  MessageBuilder builder(transfers.name);
  for (uint32_t g = 0; g < width; ++g) {
    builder.Add(GpuOf(fabric_, from, g), GpuOf(fabric_, to, g), bytes / static_cast<double>(width));
  }
  return {.stream = stream, .writer = {}, .iteration = std::move(builder).Take()};
}

BackgroundMessage BackgroundSource::Write(JobId job, const Writer& writer) const {
  std::vector<GpuId> sinks;
  for (const HostId host : spec_.storage) {
    for (uint32_t g = 0; g < fabric_.num_gpus_of(host); ++g) sinks.push_back(GpuOf(fabric_, host, g));
  }
  const std::vector<GpuId>& gpus = writer.placement.gpus;
  const Bytes part = spec_.checkpoints.at(job).bytes / static_cast<double>(gpus.size());
  MessageBuilder builder("checkpoint");
  for (size_t rank = 0; rank < gpus.size(); ++rank) builder.Add(gpus[rank], sinks[rank % sinks.size()], part);
  return {.stream = spec_.kv_transfers.size(), .writer = job, .iteration = std::move(builder).Take()};
}

}  // namespace fairlead::sim
