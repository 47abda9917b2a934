#include "sim/domain_set.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {

DomainSet::DomainSet(size_t num_links, const DomainOptions& options, BinnedSum* busy, DelayAccount* delays)
    : options_(options), busy_(busy), delays_(delays), sharing_finder_(num_links) {}

void DomainSet::End(ContentionDomain& domain, SimTime now, RunWatch& watch) {
  domain.AdvanceTo(now, watch);
  domain.Suspend();
  delays_->MergeFrom(domain.delays());
  has_released_ = true;
  for (const JobState* job : domain.jobs()) domain_of_.erase(job->id);
}

void DomainSet::Release(JobId job, SimTime now, RunWatch& watch) {
  const auto found = domain_of_.find(job);
  if (found == domain_of_.end()) return;
  ContentionDomain* const domain = found->second;
  End(*domain, now, watch);
  std::erase_if(domains_, [domain](const auto& entry) { return entry.get() == domain; });
}

SimTime DomainSet::ReleaseAll(SimTime now, double fraction, RunWatch& watch) {
  SimTime latest;
  auto left = static_cast<double>(domain_of_.size());
  for (const auto& domain : domains_) {
    // Each domain is worth its jobs of the progress that is left.
    const auto jobs = static_cast<double>(domain->jobs().size());
    const double from = watch.reached();
    watch.SetScope(domain->now(), now, from, from + (fraction - from) * jobs / left);
    left -= jobs;
    End(*domain, now, watch);
    latest = std::max(latest, domain->now());
  }
  domains_.clear();
  return latest;
}

void DomainSet::Rebuild(std::span<const RoutedJob> running, const IdVector<LinkId, double>& capacities, SimTime now,
                        RunWatch& watch) {
  const LinkSharing sharing = sharing_finder_.Find(running, capacities);
  // A domain that is not one of the new ones has lost or gained a neighbour: its jobs need a new one.
  const auto lives_on = [&](const std::vector<uint32_t>& indices) {
    const auto found = domain_of_.find(running[indices.front()].job->id);
    if (found == domain_of_.end()) return false;
    return std::ranges::equal(found->second->jobs(), indices, {}, {}, [&](uint32_t i) { return running[i].job; }) &&
           found->second->LevelsAreInForce();
  };
  std::vector<const std::vector<uint32_t>*> new_domains;
  for (const std::vector<uint32_t>& indices : sharing.domains) {
    if (!lives_on(indices)) new_domains.push_back(&indices);
  }
  for (const std::vector<uint32_t>* indices : new_domains) {
    for (const uint32_t i : *indices) Release(running[i].job->id, now, watch);
  }
  for (const std::vector<uint32_t>* indices : new_domains) {
    std::vector<JobState*> jobs;
    std::vector<const std::vector<TransferRoute>*> routes;
    for (const uint32_t i : *indices) {
      jobs.push_back(running[i].job);
      routes.push_back(running[i].routes);
    }
    domains_.push_back(
        std::make_unique<ContentionDomain>(std::move(jobs), routes, sharing, capacities, now, options_, busy_));
    for (const JobState* job : domains_.back()->jobs()) domain_of_[job->id] = domains_.back().get();
  }
  has_released_ = false;
}

SimTime DomainSet::AdvanceUntilFinishOr(SimTime limit, RunWatch& watch) {
  std::vector<SimTime> bounds;
  for (const auto& domain : domains_) bounds.push_back(domain->FinishLowerBound());
  SimTime reached = limit;
  for (;;) {
    // The domain that could finish a job first goes first, up to where another one could.
    size_t first = 0;
    for (size_t d = 1; d < bounds.size(); ++d) {
      if (bounds[d] < bounds[first]) first = d;
    }
    if (bounds.empty() || bounds[first] > limit) return limit;
    SimTime second = limit;
    for (size_t d = 0; d < bounds.size(); ++d) {
      if (d != first) second = std::min(second, bounds[d]);
    }
    ContentionDomain& domain = *domains_[first];
    domain.AdvanceTo(second, watch);
    reached = domain.now();
    if (domain.has_finished_job() || watch.is_stopped()) break;
    // Once it has been simulated up to the limit it is beyond it. Others may still finish a job right there.
    bounds[first] = domain.FinishLowerBound();
  }
  // Others may finish a job at the same instant.
  for (size_t d = 0; d < domains_.size(); ++d) {
    if (bounds[d] <= reached) domains_[d]->AdvanceTo(reached, watch);
  }
  return reached;
}

std::vector<JobId> DomainSet::FinishedJobs() const {
  std::vector<JobId> finished;
  for (const auto& domain : domains_) {
    if (!domain->has_finished_job()) continue;
    for (const JobState* job : domain->jobs()) {
      if (job->is_finished) finished.push_back(job->id);
    }
  }
  std::sort(finished.begin(), finished.end());
  return finished;
}

}  // namespace fairlead::sim
