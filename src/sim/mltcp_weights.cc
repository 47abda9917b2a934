#include "sim/mltcp_weights.h"

#include <algorithm>

namespace fairlead::sim {

namespace {

double BytesOf(const FluidVariable& variable) {
  return variable.bytes * static_cast<double>(variable.transfers.size());
}

}  // namespace

bool MltcpWeights::AreWanted(std::span<JobState* const> jobs) {
  return std::ranges::any_of(jobs, [](const JobState* job) { return job->senders.aggressiveness.has_value(); });
}

MltcpWeights::MltcpWeights(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network)
    : jobs_(jobs), time_(&time), network_(network) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    double bytes = 0;
    for (const FluidVariable& variable : network_->VariablesOf(j)) bytes += BytesOf(variable);
    iteration_bytes_.push_back(bytes);
    const auto& rule = jobs_[j]->senders.aggressiveness;
    if (rule) most_between_ns_ = std::min(most_between_ns_, rule->most_between.ns());
  }
}

// Share of the bytes of each transfer that is sent; of the running phase.
double MltcpWeights::SentOf(const FluidVariable& variable) const {
  return variable.bytes > 0 ? 1 - network_->Left(variable) / (variable.bytes * variable.width) : 1;
}

// Share of the bytes of the iteration.
double MltcpWeights::SentOfJob(uint32_t j) const {
  double sent = 0;
  for (const FluidVariable& variable : network_->VariablesOf(j)) {
    if (variable.phase < jobs_[j]->phase) sent += BytesOf(variable);
    if (variable.phase == jobs_[j]->phase) sent += BytesOf(variable) * SentOf(variable);
  }
  return sent / iteration_bytes_[j];
}

void MltcpWeights::Renew() {
  bool any_sends = false;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    const auto& rule = job.senders.aggressiveness;
    if (!rule || !job.is_phase_running) continue;
    const std::span<const FluidVariable> variables = network_->VariablesOf(j, job.phase);
    const double of_job = rule->counts_job ? SentOfJob(j) : 0;
    for (const FluidVariable& variable : variables) {
      if (!network_->IsSending(variable)) continue;
      any_sends = true;
      const double sent = rule->counts_job ? of_job : SentOf(variable);
      network_->SetPush(variable, rule->slope * std::clamp(sent, 0.0, 1.0) + rule->intercept);
    }
  }
  next_ns_ = any_sends ? time_->local_ns + most_between_ns_ : kNeverNs;
}

}  // namespace fairlead::sim
