// What a domain tells the recorder of a run: activities of jobs, what holds them up, loads of links.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/contention_domain.h"

namespace fairlead::sim {

namespace {

// Held up by less than this share of its rate alone, a phase counts as undisturbed.
constexpr double kLeastMissing = 1e-3;

}  // namespace

bool ContentionDomain::IsRecorded() const {
  return options_.recorder != nullptr && options_.recorder->Covers(Global(local_now_ns_));
}

// How far jumps may go: neither into the window that is recorded, nor within it.
int64_t ContentionDomain::JumpLimitNs(int64_t limit_ns) const {
  if (options_.recorder == nullptr) return limit_ns;
  const RecordingWindow& window = options_.recorder->window();
  const SimTime now = Global(local_now_ns_);
  if (now >= window.to) return limit_ns;
  if (now >= window.from) return local_now_ns_;
  return std::min(limit_ns, window.from.ns() - offset_ns_);
}

std::vector<TransferLink> ContentionDomain::RecordedLinksOf(const TransferRoute& route) const {
  std::vector<TransferLink> links;
  for (const TransferLink& use : route.links) {
    if (options_.recorder->FollowsLoadOf(use.link)) links.push_back(use);
  }
  return links;
}

// Rates are constant from now on, until the next event.
void ContentionDomain::RecordLoads() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    std::map<LinkId, double> loads;
    for (uint32_t v = runtimes_[j].first_variable.front(); v < runtimes_[j].first_variable.back(); ++v) {
      const double rate = network_->active(variables_[v].flow) ? network_->Rate(variables_[v].flow) : 0;
      for (const TransferLink& use : recorded_links_[v]) loads[use.link] += rate * use.multiplicity;
    }
    for (const auto& [link, bytes_per_s] : loads) {
      options_.recorder->AddLoad(jobs_[j]->id, {.link = link, .at = Global(local_now_ns_), .bytes_per_s = bytes_per_s});
    }
  }
}

// The domains that follow say at the same instant what their jobs send.
void ContentionDomain::EndLoads() {
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    const JobId job = jobs_[variables_[v].job]->id;
    for (const TransferLink& use : recorded_links_[v]) {
      options_.recorder->AddLoad(job, {.link = use.link, .at = Global(local_now_ns_), .bytes_per_s = 0});
    }
  }
}

// It has just ended, or the clock of computing is brought up to now.
void ContentionDomain::RecordActivity(uint32_t j, Activity activity, SimTime from) {
  const JobState& job = *jobs_[j];
  if (!options_.recorder->HasNamed(job.id)) {
    std::vector<std::string> names;
    for (const model::CommunicationPhase& phase : job.iteration->phases) names.push_back(phase.name);
    options_.recorder->NamePhases(job.id, std::move(names));
  }
  options_.recorder->AddActivity({.job = job.id,
                                  .activity = activity,
                                  .phase = job.phase,
                                  .iteration = job.iterations_done,
                                  .from = from,
                                  .to = Global(local_now_ns_)});
}

// What is in view has held since `from_ns`.
void ContentionDomain::RecordHeldUp(uint32_t j, int64_t from_ns) {
  const auto& shares = runtimes_[j].delay.shares;
  const auto most = std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; });
  if (most == shares.end() || most->second < kLeastMissing) return;
  const DelayShare& reason = jobs_[j]->delay_shares[most->first];
  options_.recorder->AddHeldUp({.job = jobs_[j]->id,
                                .cause = reason.cause,
                                .culprit = reason.culprit,
                                .link = reason.link,
                                .missing = most->second,
                                .from = Global(from_ns),
                                .to = Global(local_now_ns_)});
}

}  // namespace fairlead::sim
