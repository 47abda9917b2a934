#include "sim/domain_recorder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/timeline.h"

namespace fairlead::sim {

namespace {

// Held up by less than this share of its rate alone, a phase counts as undisturbed.
constexpr double kLeastMissing = 1e-3;

std::vector<std::pair<LinkId, double>> SelectFollowed(const FluidVariable& variable,
                                                      const std::vector<TransferRoute>& routes,
                                                      const RunRecorder& recorder) {
  std::map<LinkId, uint64_t> crossings;
  for (const uint32_t t : variable.transfers) {
    for (const TransferLink& use : routes[t].links) {
      if (recorder.FollowsLoadOf(use.link)) crossings[use.link] += use.multiplicity;
    }
  }
  const double of_one = static_cast<double>(variable.transfers.size()) / variable.num_alike;
  std::vector<std::pair<LinkId, double>> links;
  for (const auto& [link, count] : crossings) links.emplace_back(link, static_cast<double>(count) / of_one);
  return links;
}

}  // namespace

DomainRecorder::DomainRecorder(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network,
                               std::span<const std::vector<TransferRoute>* const> routes, RunRecorder* recorder)
    : jobs_(jobs),
      time_(&time),
      network_(network),
      recorder_(recorder),
      loaded_(jobs.size()),
      is_profiled_(std::ranges::any_of(jobs, [](const JobState* job) { return job->watch != nullptr; })) {
  if (recorder_ == nullptr) return;
  for (const FluidVariable& variable : network_->variables()) {
    links_.push_back(SelectFollowed(variable, *routes[variable.job], *recorder_));
  }
}

int64_t DomainRecorder::JumpLimitNs(int64_t limit_ns) const {
  if (is_profiled_) return time_->local_ns;
  if (recorder_ == nullptr) return limit_ns;
  const RecordingWindow& window = recorder_->window();
  const SimTime now = time_->now();
  if (now >= window.to) return limit_ns;
  if (now >= window.from) return time_->local_ns;
  return std::min(limit_ns, time_->Local(window.from));
}

void DomainRecorder::RecordTraffic(int64_t until_ns) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (job.watch == nullptr || !job.is_phase_running || !job.watch->counts_phase[job.phase]) continue;
    double rate = 0;
    for (const FluidVariable& variable : network_->VariablesOf(j, job.phase)) {
      rate += network_->Rate(variable) * variable.parts * variable.num_alike;
    }
    TrafficWatch& watch = *job.watch;
    const SimTime from(std::max(time_->now(), watch.from).ns() - watch.from.ns());
    const SimTime to(time_->At(until_ns).ns() - watch.from.ns());
    if (to <= from) continue;
    watch.bytes.resize(std::max(watch.bytes.size(), static_cast<size_t>(to.ns() / watch.bin_ns) + 1), 0.0f);
    BinnedSum::Spread(from, to, rate * (to - from).seconds().value(), watch.bytes, watch.bin_ns);
  }
}

void DomainRecorder::RecordLoads() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    std::map<LinkId, double> loads;
    for (const LinkId link : loaded_[j]) loads[link] = 0;
    for (const FluidVariable& variable : network_->VariablesOf(j)) {
      if (network_->IsSending(variable)) AddLoads(variable, &loads);
    }
    loaded_[j].clear();
    for (const auto& [link, bytes_per_s] : loads) {
      recorder_->AddLoad(jobs_[j]->id, {.link = link, .at = time_->now(), .bytes_per_s = bytes_per_s});
      if (bytes_per_s > 0) loaded_[j].insert(link);
    }
  }
}

void DomainRecorder::AddLoads(const FluidVariable& variable, std::map<LinkId, double>* loads) const {
  const JobState& job = *jobs_[variable.job];
  const double rate = network_->Rate(variable);
  if (!job.senders.choice) {
    for (const auto& [link, share] : links_[variable.flow.index()]) (*loads)[link] += rate * share;
    return;
  }
  // They are where they have chosen to be, not on all of their candidates.
  for (const uint32_t flow : job.transfers[variable.transfers.front()].flows) {
    for (const LinkId link : job.paths[flow]) {
      if (recorder_->FollowsLoadOf(link)) (*loads)[link] += rate;
    }
  }
}

void DomainRecorder::EndLoads() {
  if (!IsInWindow()) return;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    for (const LinkId link : loaded_[j]) {
      recorder_->AddLoad(jobs_[j]->id, {.link = link, .at = time_->now(), .bytes_per_s = 0});
    }
    loaded_[j].clear();
  }
}

void DomainRecorder::AddActivity(uint32_t j, Activity activity, SimTime from) {
  const JobState& job = *jobs_[j];
  if (!recorder_->HasNamed(job.id)) {
    std::vector<std::string> names;
    for (const model::CommunicationPhase& phase : job.iteration->phases) names.push_back(phase.name);
    recorder_->NamePhases(job.id, std::move(names));
  }
  recorder_->AddActivity({.job = job.id,
                          .activity = activity,
                          .phase = job.phase,
                          .iteration = job.iterations_done,
                          .from = from,
                          .to = time_->now()});
}

void DomainRecorder::RecordHeldUp(uint32_t j, const DelayShare& reason, double missing, int64_t from_ns) {
  if (recorder_ == nullptr || missing < kLeastMissing) return;
  recorder_->AddHeldUp({.job = jobs_[j]->id,
                        .cause = reason.cause,
                        .culprit = reason.culprit,
                        .link = reason.link,
                        .missing = missing,
                        .from = time_->At(from_ns),
                        .to = time_->now()});
}

}  // namespace fairlead::sim
