#include "sim/coflow_pacer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
// What rounding leaves of a full link is nothing.
constexpr double kFullWithin = 1e-12;

}  // namespace

bool CoflowPacer::IsWanted(std::span<JobState* const> jobs) {
  return std::ranges::any_of(jobs, [](const JobState* job) { return job->senders.turn.has_value(); });
}

CoflowPacer::CoflowPacer(std::span<JobState* const> jobs, DomainNetwork* network)
    : jobs_(jobs),
      network_(network),
      uses_(network->variables().size()),
      load_(network->links().size()),
      rates_(network->variables().size()) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j]->senders.turn) order_.push_back(j);
  }
  std::ranges::stable_sort(
      order_, {}, [&](uint32_t j) { return std::pair(jobs_[j]->senders.turn->group, jobs_[j]->senders.turn->rank); });
  for (uint32_t link = 0; link < network_->links().size(); ++link) {
    if (!network_->links()[link].link.valid()) continue;
    for (const LinkUser& user : network_->links()[link].users) {
      uses_[user.variable].push_back({link, user.multiplicity});
    }
  }
}

double CoflowPacer::TopRate(uint32_t v) const {
  const FluidVariable& variable = network_->variable(v);
  return variable.top_rate * variable.width;
}

void CoflowPacer::Take(uint32_t v, double per_s) {
  rates_[v].per_s += per_s;
  for (const fluid::LinkUse& use : uses_[v]) {
    double& free = free_[use.link];
    free -= use.multiplicity * per_s;
    if (free < kFullWithin * network_->links()[use.link].capacity) free = 0;
  }
}

void CoflowPacer::Renew() {
  free_.clear();
  for (const LocalLink& link : network_->links()) free_.push_back(link.capacity);
  for (size_t first = 0; first < order_.size();) {
    const uint32_t group = jobs_[order_[first]]->senders.turn->group;
    size_t end = first;
    for (; end < order_.size() && jobs_[order_[end]]->senders.turn->group == group; ++end) Allocate(order_[end]);
    for (; first < end; ++first) {
      if (jobs_[order_[first]]->senders.turn->pacing == traffic::Pacing::kMaddAndBackfill) Backfill(order_[first]);
    }
  }
  for (const uint32_t j : order_) {
    if (!jobs_[j]->is_phase_running) continue;
    for (const FluidVariable& variable : network_->VariablesOf(j, jobs_[j]->phase)) {
      const Rate& rate = rates_[variable.flow.index()];
      if (network_->IsSending(variable)) network_->SetPace(variable, rate.per_s, rate.binding_link);
    }
  }
}

// Rates with which all that the job sends ends together, as soon as what is free allows.
void CoflowPacer::Allocate(uint32_t j) {
  if (!jobs_[j]->is_phase_running) return;
  const std::span<const FluidVariable> variables = network_->VariablesOf(j, jobs_[j]->phase);
  double seconds = 0;
  uint32_t binding_link = fluid::kNoLink;
  for (const FluidVariable& variable : variables) {
    const auto v = static_cast<uint32_t>(variable.flow.index());
    rates_[v] = {};
    const double left = network_->Left(variable);
    if (left <= 0) continue;
    for (const fluid::LinkUse& use : uses_[v]) load_[use.link] += use.multiplicity * left;
    seconds = std::max(seconds, TopRate(v) > 0 ? left / TopRate(v) : kForever);
  }
  for (const FluidVariable& variable : variables) {
    for (const fluid::LinkUse& use : uses_[variable.flow.index()]) {
      const double load = std::exchange(load_[use.link], 0);
      if (load <= 0) continue;
      const double needs = free_[use.link] > 0 ? load / free_[use.link] : kForever;
      if (needs <= seconds) continue;
      seconds = needs;
      binding_link = use.link;
    }
  }
  for (const FluidVariable& variable : variables) {
    const auto v = static_cast<uint32_t>(variable.flow.index());
    rates_[v].binding_link = binding_link;
    if (seconds > 0 && seconds < kForever) Take(v, network_->Left(variable) / seconds);
  }
}

// Shares what is free max-min fairly among what the job sends, beside the rates that it has.
void CoflowPacer::Backfill(uint32_t j) {
  if (!jobs_[j]->is_phase_running) return;
  std::vector<uint32_t> open;
  for (const FluidVariable& variable : network_->VariablesOf(j, jobs_[j]->phase)) {
    if (network_->IsSending(variable)) open.push_back(static_cast<uint32_t>(variable.flow.index()));
  }
  while (!open.empty()) Raise(&open);
}

// One step of filling: raises the open variables alike until a link is full or a top rate reached, and closes those
// that this stops.
void CoflowPacer::Raise(std::vector<uint32_t>* open) {
  double step = kForever;
  for (const uint32_t v : *open) {
    const double width = network_->variable(v).width;
    step = std::min(step, std::max(0.0, TopRate(v) - rates_[v].per_s) / width);
    for (const fluid::LinkUse& use : uses_[v]) load_[use.link] += use.multiplicity * width;
  }
  for (const uint32_t v : *open) {
    for (const fluid::LinkUse& use : uses_[v]) {
      if (load_[use.link] > 0) step = std::min(step, free_[use.link] / load_[use.link]);
    }
  }
  for (const uint32_t v : *open) {
    for (const fluid::LinkUse& use : uses_[v]) load_[use.link] = 0;
  }
  for (const uint32_t v : *open) Take(v, step * network_->variable(v).width);
  const size_t num_closed = std::erase_if(*open, [&](uint32_t v) {
    if (rates_[v].per_s >= TopRate(v) * (1 - kFullWithin)) {
      rates_[v].binding_link = fluid::kNoLink;
      return true;
    }
    for (const fluid::LinkUse& use : uses_[v]) {
      if (free_[use.link] > 0) continue;
      rates_[v].binding_link = use.link;
      return true;
    }
    return false;
  });
  FL_CHECK_MSG(num_closed > 0, "the filling does not end");
}

}  // namespace fairlead::sim
