#include "sim/flowlet_chooser.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

namespace {

// Loads this near to each other are equal.
constexpr double kSameLoad = 1e-9;
constexpr size_t kEligiblePaths = 4;

}  // namespace

bool FlowletChooser::IsWanted(std::span<JobState* const> jobs) {
  return std::ranges::any_of(jobs, [](const JobState* job) { return job->senders.choice.has_value(); });
}

FlowletChooser::FlowletChooser(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network,
                               const IdVector<LinkId, double>& capacities, CarriedAccount* carried)
    : jobs_(jobs),
      time_(&time),
      network_(network),
      carried_(carried),
      candidates_(jobs.size()),
      uses_(network->variables().size()),
      chosen_(network->links().size()) {
  for (uint32_t local = 0; local < network_->links().size(); ++local) {
    const LocalLink& link = network_->links()[local];
    if (link.link.valid()) links_[link.link].local = local;
    for (const LinkUser& user : link.users) uses_[user.variable].push_back({local, user.multiplicity});
  }
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobState& job = *jobs_[j];
    if (!job.senders.choice) continue;
    job.quiet_since.resize(job.transfers.size());
    for (const model::Path& bundle : job.senders.choice->candidates) {
      for (const LinkId link : bundle) links_[link].capacity = capacities[link];
      candidates_[j].push_back(MakeCandidates(bundle));
    }
    for (const FluidVariable& variable : network_->VariablesOf(j)) SetRoute(variable);
  }
}

std::vector<FlowletChooser::Candidate> FlowletChooser::MakeCandidates(const model::Path& bundle) const {
  const auto parts = traffic::PartsOf(bundle);
  std::vector<Candidate> candidates;
  for (const std::span<const LinkId> part : parts) {
    Candidate& candidate = candidates.emplace_back();
    candidate.path.assign(part.begin(), part.end());
    for (const LinkId link : part) {
      const uint32_t local = links_.at(link).local;
      const bool is_common = std::ranges::count(bundle, link) == static_cast<std::ptrdiff_t>(parts.size());
      if (local != fluid::kNoLink && !is_common) candidate.links.push_back(local);
    }
  }
  return candidates;
}

void FlowletChooser::BeginPhase(uint32_t j) {
  const JobState& job = *jobs_[j];
  const auto variables = network_->VariablesOf(j, job.phase);
  if (std::ranges::any_of(variables, [&](const FluidVariable& v) { return WillChoose(job, v); })) Settle(j);
}

bool FlowletChooser::WillChoose(const JobState& job, const FluidVariable& variable) const {
  if (!job.senders.choice || job.senders.choice->gap >= traffic::PathChoice::kNever) return false;
  const std::optional<SimTime>& quiet_since = job.quiet_since[variable.transfers.front()];
  return !quiet_since || time_->now() - *quiet_since >= job.senders.choice->gap;
}

void FlowletChooser::BeginSending(const FluidVariable& variable) {
  if (WillChoose(*jobs_[variable.job], variable)) Choose(variable);
}

void FlowletChooser::EndSending(const FluidVariable& variable) {
  JobState& job = *jobs_[variable.job];
  if (job.senders.choice) job.quiet_since[variable.transfers.front()] = time_->now();
}

void FlowletChooser::Renew() {
  int64_t next_ns = kNeverNs;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (!job.is_phase_running || !job.senders.choice || job.senders.choice->remap.ns() == 0) continue;
    const int64_t remap_ns = job.senders.choice->remap.ns();
    // At multiples of the cluster's clock, so that a domain that is rebuilt goes on as before.
    const int64_t now_ns = time_->now().ns();
    if (now_ns % remap_ns == 0) {
      Settle(j);
      for (const FluidVariable& variable : network_->VariablesOf(j, job.phase)) {
        if (network_->IsSending(variable)) Choose(variable);
      }
    }
    next_ns = std::min(next_ns, time_->local_ns + remap_ns - now_ns % remap_ns);
  }
  next_ns_ = next_ns;
}

// Books what the job has sent on its paths so far.
void FlowletChooser::Settle(uint32_t j) {
  JobState& job = *jobs_[j];
  if (carried_ == nullptr) return;
  if (job.is_phase_running) {
    for (const FluidVariable& variable : network_->VariablesOf(j, job.phase)) {
      const double left = network_->Left(variable) / variable.width;
      for (const uint32_t t : variable.transfers) job.remaining[t] = left;
    }
  }
  carried_->Settle(job, time_->now());
}

void FlowletChooser::Choose(const FluidVariable& variable) {
  JobState& job = *jobs_[variable.job];
  const traffic::PathChoice& choice = *job.senders.choice;
  bool has_changed = false;
  for (const uint32_t flow : job.transfers[variable.transfers.front()].flows) {
    const std::vector<Candidate>& candidates = candidates_[variable.job][flow];
    if (candidates.empty()) continue;
    const auto is_present = [&](const Candidate& c) { return std::ranges::equal(c.path, job.paths[flow]); };
    const auto present = static_cast<size_t>(std::ranges::find_if(candidates, is_present) - candidates.begin());
    const uint64_t hash = CombineHash(CombineHash(choice.seed, flow), static_cast<uint64_t>(time_->now().ns()));
    const size_t answer = candidates.size() == 1 ? 0
                                                 : Answer(variable, choice.rule,
                                                          {.candidates = candidates, .present = present, .hash = hash});
    for (const uint32_t link : candidates[answer].links) ++chosen_[link];
    if (answer == present) continue;
    job.paths[flow].assign(candidates[answer].path.begin(), candidates[answer].path.end());
    has_changed = true;
  }
  std::ranges::fill(chosen_, 0);
  if (has_changed) SetRoute(variable);
}

// Which of the candidates the flow takes.
size_t FlowletChooser::Answer(const FluidVariable& variable, traffic::PathRule rule, const Question& question) {
  const size_t num = question.candidates.size();
  const size_t offset = question.hash % num;
  if (rule == traffic::PathRule::kLetflow) return offset;
  std::vector<double> score(num);
  for (size_t c = 0; c < num; ++c) {
    const Candidate& candidate = question.candidates[c];
    score[c] = rule == traffic::PathRule::kConga ? LoadOf(variable, candidate)
                                                 : static_cast<double>(FlowsOn(variable, candidate));
  }
  if (rule == traffic::PathRule::kConga) {
    const double least = *std::ranges::min_element(score);
    if (question.present < num && score[question.present] <= least + kSameLoad) return question.present;
    for (size_t i = 0; i < num; ++i) {
      const size_t c = (offset + i) % num;
      if (score[c] <= least + kSameLoad) return c;
    }
  }
  std::vector<size_t> order(num);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t c) { return score[c]; });
  order.resize(std::min(num, kEligiblePaths));
  if (std::ranges::find(order, question.present) != order.end()) return question.present;
  return order[question.hash % order.size()];
}

// Of the fullest of its links, with what others send over it, with the flow itself at its top rate, and with those of
// the variable's flows that have chosen; above 1: it is not enough.
double FlowletChooser::LoadOf(const FluidVariable& variable, const Candidate& candidate) {
  double load = 0;
  for (const uint32_t local : candidate.links) {
    const double capacity = network_->links()[local].capacity;
    if (capacity <= 0) return std::numeric_limits<double>::max();
    double used = network_->Load(local) + (chosen_[local] + 1) * variable.top_rate;
    for (const fluid::LinkUse& use : uses_[variable.flow.index()]) {
      if (use.link == local) used -= use.multiplicity * network_->Rate(variable);
    }
    load = std::max(load, used / capacity);
  }
  return load;
}

// Flows that send over its links, the same way.
uint64_t FlowletChooser::FlowsOn(const FluidVariable& variable, const Candidate& candidate) const {
  uint64_t flows = 0;
  for (const uint32_t local : candidate.links) {
    flows += chosen_[local];
    for (const LinkUser& user : network_->links()[local].users) {
      const FluidVariable& other = network_->variable(user.variable);
      if (other.flow != variable.flow && network_->IsSending(other)) flows += user.multiplicity;
    }
  }
  return flows;
}

// The variable takes the present paths of its flows.
void FlowletChooser::SetRoute(const FluidVariable& variable) {
  const JobState& job = *jobs_[variable.job];
  std::map<LinkId, uint32_t> crossings;
  bool is_cut = false;
  for (const uint32_t flow : job.transfers[variable.transfers.front()].flows) {
    is_cut |= job.paths[flow].empty();
    for (const LinkId link : job.paths[flow]) ++crossings[link];
  }
  std::vector<fluid::LinkUse>& uses = uses_[variable.flow.index()];
  const uint32_t own_link = uses.back().link;
  std::vector<fluid::LinkUse> route;
  double rate = is_cut ? 0 : std::numeric_limits<double>::infinity();
  for (const auto& [id, multiplicity] : crossings) {
    const auto link = links_.find(id);
    FL_CHECK_MSG(link != links_.end(), "a flow must be on one of its candidates");
    if (link->second.local != fluid::kNoLink) route.push_back({link->second.local, multiplicity});
    rate = std::min(rate, link->second.capacity / multiplicity);
  }
  route.push_back({own_link, 1});
  network_->SetRoute(variable, uses, route, rate);
  uses = std::move(route);
}

}  // namespace fairlead::sim
