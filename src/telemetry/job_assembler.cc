#include "telemetry/job_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>

#include "base/disjoint_sets.h"

namespace fairlead::telemetry {

namespace {

using model::CommunicatorId;
using model::RankId;

// Between two tries to make a layout that waits for ranks.
constexpr SimDuration kTryAgainAfter(1'000'000'000);
constexpr SimDuration kRollCallEvery(1'000'000'000);

std::string NameOf(const ProcessCommunicator& communicator) {
  return communicator.name.empty() ? fmt::format("{:016x}", communicator.id) : communicator.name;
}

}  // namespace

JobAssembler::JobAssembler(JobId job, const JobAssemblerOptions& options, model::PlaceNames names)
    : job_(job), options_(options), names_(std::move(names)) {}

std::vector<model::TelemetryRecord> JobAssembler::Add(SimTime now, const HostLook& look) {
  Note(now, look);
  std::vector<model::TelemetryRecord> records;
  if (const model::JobLayout* layout = Settle(now)) records.emplace_back(*layout);
  if (!plan_.has_value()) return records;
  for (const HostLook::Process& process : look.processes) {
    const ProcessReport& report = process.report;
    const auto rank = plan_->ranks.find({look.host, report.pid, report.process_start});
    if (rank != plan_->ranks.end()) records.emplace_back(Translate(report, rank->second));
  }
  model::HostReport of_host = ReportHost(look);
  if (!of_host.ranks.empty()) records.emplace_back(std::move(of_host));
  return records;
}

// ---- Who is there ----

void JobAssembler::NoteWhoSpeaks(SimTime now, HostId host) {
  // Nobody listened, so nobody was silent.
  if (now - std::exchange(last_look_, now) >= options_.quiet_for) {
    for (auto& [other, heard] : heard_) heard = now;
  }
  heard_[host] = now;
  if (quiet_.erase(host) > 0) changed_ = now;
  if (now < next_roll_call_) return;
  next_roll_call_ = now + kRollCallEvery;
  for (const auto& [other, heard] : heard_) {
    if (now - heard >= options_.quiet_for && quiet_.insert(other).second) changed_ = now;
  }
}

void JobAssembler::Note(SimTime now, const HostLook& look) {
  NoteWhoSpeaks(now, look.host);
  auto known = processes_.lower_bound({.host = look.host, .pid = INT32_MIN, .start = 0});
  for (; known != processes_.end() && known->first.host == look.host; ++known) known->second.is_there = false;
  for (const HostLook::Process& seen : look.processes) {
    const ProcessKey key{look.host, seen.report.pid, seen.report.process_start};
    const auto [entry, is_new] = processes_.try_emplace(key);
    Process& process = entry->second;
    if (is_new) {
      process.key = key;
      process.order = num_seen_++;
      process.global_rank = seen.report.global_rank;
    }
    if (is_new && !first_seen_.has_value()) first_seen_ = now;
    process.is_gone = seen.state == model::ProcessState::kGone;
    process.is_there = !process.is_gone;
    process.was_there |= process.is_there;
    process.exit = seen.exit;
    if (Merge(seen.report, &process) || is_new) changed_ = now;
  }
}

// Returns whether the process has a communicator that it had not.
bool JobAssembler::Merge(const ProcessReport& report, Process* process) const {
  bool is_news = false;
  for (const ProcessCommunicator& reported : report.communicators) {
    if (reported.rank < 0 || static_cast<uint32_t>(reported.rank) >= reported.num_ranks) continue;
    const auto known = std::ranges::find(process->communicators, reported.id, &ProcessCommunicator::id);
    if (known != process->communicators.end()) {
      known->is_finalized = reported.is_finalized;
    } else {
      process->communicators.push_back(reported);
      is_news = true;
    }
  }
  return is_news;
}

// ---- Layouts ----

const model::JobLayout* JobAssembler::Settle(SimTime now) {
  if (!changed_.has_value() || now - *changed_ < options_.settle_for) return nullptr;
  if (tried_.has_value() && now - *tried_ < kTryAgainAfter) return nullptr;
  tried_ = now;
  Plan plan = MakePlan();
  const bool is_due = plan.is_complete || now - *first_seen_ >= options_.wait_for;
  if (!is_due || plan.layout.ranks.empty()) return nullptr;
  changed_.reset();
  tried_.reset();
  notes_ = plan.notes;
  std::erase_if(processes_,
                [&](const auto& entry) { return !Counts(entry.second) && !plan.ranks.contains(entry.first); });
  if (plan_ == plan) return nullptr;
  plan_ = std::move(plan);
  return &plan_->layout;
}

std::string JobAssembler::Describe(const Process& process) const {
  return fmt::format("process {} of {}", process.key.pid, names_.Of(process.key.host));
}

void JobAssembler::NoteLeftOut(const Process& process, const std::string& why, std::vector<std::string>* notes) const {
  if (process.is_there) notes->push_back(fmt::format("{} is left out: it {}", Describe(process), why));
}

// What earlier claims say against the process; empty: nothing.
std::string JobAssembler::FindContradiction(const Process& process, const Claims& claims) const {
  const auto owner_of_rank = claims.by_rank.find(process.global_rank);
  if (claims.are_of_environment && owner_of_rank != claims.by_rank.end()) {
    return fmt::format("claims to be rank {}, as {} does", process.global_rank, Describe(*owner_of_rank->second));
  }
  for (const ProcessCommunicator& reported : process.communicators) {
    const auto group = claims.groups.find(reported.id);
    if (group == claims.groups.end()) continue;
    if (group->second.num_ranks != reported.num_ranks) {
      return fmt::format("reports {1} ranks in communicator {0}, others {2}", NameOf(reported), reported.num_ranks,
                         group->second.num_ranks);
    }
    if (const auto owner = group->second.members.find(reported.rank); owner != group->second.members.end()) {
      return fmt::format("claims to be rank {} of communicator {}, as {} does", reported.rank, NameOf(reported),
                         Describe(*owner->second));
    }
  }
  return "";
}

// Whether these are all ranks of the job, by a communicator that all of them are in, each with its own rank.
bool JobAssembler::IsWhole(const std::vector<const Process*>& processes) {
  std::map<uint64_t, std::set<int32_t>> ranks;  // by communicator
  for (const Process* process : processes) {
    for (const ProcessCommunicator& reported : process->communicators) {
      std::set<int32_t>& known = ranks[reported.id];
      if (reported.rank == process->global_rank) known.insert(reported.rank);
      if (known.size() == reported.num_ranks) return true;
    }
  }
  return false;
}

// Old processes that none waits for live beside those of the next start. A single replaced rank is not another start:
// it meets the remaining ones, and so is connected with them and with its predecessor. Processes that were never seen
// alive, nor any that they hang together with, had ended before anybody looked: they are of an earlier start.
std::set<const JobAssembler::Process*> JobAssembler::FindOtherStarts() const {
  std::vector<const Process*> all;
  for (const auto& [key, process] : processes_) all.push_back(&process);
  DisjointSets sets(all.size());
  std::map<uint64_t, uint32_t> met;  // [communicator] one of its processes
  for (uint32_t p = 0; p < all.size(); ++p) {
    for (const ProcessCommunicator& reported : all[p]->communicators)
      sets.Join(met.try_emplace(reported.id, p).first->second, p);
  }
  struct Start {
    std::set<HostId> hosts;  // of the living
    size_t num_living = 0;
    bool was_seen = false;  // one of them alive
    uint64_t order = UINT64_MAX;
    std::vector<const Process*> processes;
  };
  std::map<uint32_t, Start> starts;
  for (uint32_t p = 0; p < all.size(); ++p) {
    Start& start = starts[sets.Find(p)];
    if (Counts(*all[p])) start.hosts.insert(all[p]->key.host);
    start.num_living += Counts(*all[p]) ? 1 : 0;
    start.was_seen |= all[p]->was_there;
    start.order = std::min(start.order, all[p]->order);
    start.processes.push_back(all[p]);
  }
  std::vector<const Start*> by_weight;
  by_weight.reserve(starts.size());
  for (const auto& [root, start] : starts) by_weight.push_back(&start);
  // What a single host says counts once.
  std::ranges::sort(by_weight, {}, [](const Start* s) {
    return std::tuple(-static_cast<int64_t>(s->hosts.size()), -static_cast<int64_t>(s->num_living), s->order);
  });
  const bool is_complete = !by_weight.empty() && IsWhole(by_weight.front()->processes);
  std::set<int32_t> taken;
  std::set<const Process*> others;
  for (const Start* start : by_weight) {
    const bool is_earlier = !start->was_seen && by_weight.front()->num_living > 0;
    const bool is_beside = is_complete && start != by_weight.front();
    const bool is_other = is_earlier || is_beside || std::ranges::any_of(start->processes, [&](const Process* p) {
                            return taken.contains(p->global_rank);
                          });
    for (const Process* process : start->processes) {
      if (is_other) others.insert(process);
      if (!is_other && process->global_rank >= 0) taken.insert(process->global_rank);
    }
  }
  return others;
}

JobAssembler::Claims JobAssembler::TakeClaims(std::vector<std::string>* notes) const {
  Claims claims;
  for (const auto& [key, process] : processes_) claims.all.push_back(&process);
  std::ranges::sort(claims.all, {}, [&](const Process* p) { return std::pair(!Counts(*p), p->order); });
  claims.are_of_environment =
      std::ranges::all_of(claims.all, [&](const Process* p) { return !Counts(*p) || p->global_rank >= 0; });
  const std::set<const Process*> others = claims.are_of_environment ? FindOtherStarts() : std::set<const Process*>();
  // The others come last, so that the message can name the ones they contradict.
  std::ranges::stable_sort(claims.all, {}, [&](const Process* p) { return others.contains(p); });
  for (const Process* process : claims.all) {
    std::string contradiction = FindContradiction(*process, claims);
    if (contradiction.empty() && others.contains(process)) contradiction = "is of another start of the job";
    if (!contradiction.empty()) {
      NoteLeftOut(*process, contradiction, notes);
      continue;
    }
    if (claims.are_of_environment && process->global_rank >= 0) claims.by_rank.emplace(process->global_rank, process);
    for (const ProcessCommunicator& reported : process->communicators) {
      Group& group = claims.groups[reported.id];
      group.num_ranks = reported.num_ranks;
      group.name = NameOf(reported);
      group.is_finalized &= reported.is_finalized || !process->is_there;
      group.members.emplace(reported.rank, process);
    }
  }
  return claims;
}

void JobAssembler::PlanRanks(Claims* claims, Plan* plan) const {
  const auto world = std::ranges::max_element(claims->groups, {}, [&](const auto& entry) {
    const auto& members = entry.second.members;
    const auto living = std::ranges::count_if(members, [&](const auto& member) { return Counts(*member.second); });
    return std::pair(entry.second.num_ranks, living);
  });
  const uint32_t world_ranks = world == claims->groups.end() ? 0 : world->second.num_ranks;
  if (!claims->are_of_environment && world_ranks > 0) claims->by_rank = world->second.members;
  std::map<HostId, uint32_t> num_on_host;
  for (const auto& [number, process] : claims->by_rank) {
    plan->ranks.emplace(process->key, RankId(plan->layout.ranks.size()));
    model::RankPlace place;
    place.host = process->key.host;
    place.gpu = num_on_host[place.host]++;
    plan->layout.ranks.push_back(place);
  }
  const auto highest = claims->by_rank.empty() ? 0 : static_cast<uint32_t>(claims->by_rank.rbegin()->first) + 1;
  const uint32_t expected = std::max(highest, world_ranks);
  plan->is_complete = world_ranks > 0 && claims->by_rank.size() == expected;
  if (!plan->is_complete) {
    plan->notes.push_back(fmt::format("{} of {} ranks are known", claims->by_rank.size(), expected));
  }
  for (const Process* process : claims->all) {
    if (claims->are_of_environment || plan->ranks.contains(process->key)) continue;
    NoteLeftOut(*process, "is not in the largest communicator", &plan->notes);
  }
}

void JobAssembler::PlanCommunicators(const Claims& claims, Plan* plan) const {
  for (const auto& [id, group] : claims.groups) {
    if (group.is_finalized) continue;
    model::Communicator communicator{.name = group.name, .ranks = {}};
    for (const auto& [position, process] : group.members) {
      const auto rank = plan->ranks.find(process->key);
      if (rank != plan->ranks.end()) communicator.ranks.push_back(rank->second);
    }
    if (communicator.ranks.size() != group.num_ranks) {
      plan->notes.push_back(fmt::format("communicator {} is left out: {} of its {} ranks are known", group.name,
                                        communicator.ranks.size(), group.num_ranks));
      continue;
    }
    plan->communicators.emplace(id, CommunicatorId(plan->layout.communicators.size()));
    plan->layout.communicators.push_back(std::move(communicator));
  }
}

JobAssembler::Plan JobAssembler::MakePlan() const {
  Plan plan;
  plan.layout.job = job_;
  Claims claims = TakeClaims(&plan.notes);
  PlanRanks(&claims, &plan);
  PlanCommunicators(claims, &plan);
  return plan;
}

// ---- Reports ----

model::RankReport JobAssembler::Translate(const ProcessReport& report, RankId rank) const {
  // [communicator of the report] that of the job; invalid: not in the layout, or a second one of that id.
  std::vector<CommunicatorId> communicators;
  std::set<uint64_t> seen;
  for (const ProcessCommunicator& reported : report.communicators) {
    const auto known = plan_->communicators.find(reported.id);
    CommunicatorId id;
    if (known != plan_->communicators.end() && reported.rank >= 0 &&
        static_cast<uint32_t>(reported.rank) < reported.num_ranks) {
      const std::vector<RankId>& ranks = plan_->layout.communicators[known->second.index()].ranks;
      const auto position = static_cast<size_t>(reported.rank);
      const bool is_member = reported.num_ranks == ranks.size() && ranks[position] == rank;
      if (is_member && seen.insert(reported.id).second) id = known->second;
    }
    communicators.push_back(id);
  }
  // False: not of the layout.
  const auto translate = [&](CommunicatorId* communicator, RankId* peer) {
    if (!communicator->valid() || communicator->index() >= communicators.size()) return false;
    *communicator = communicators[communicator->index()];
    if (!communicator->valid()) return false;
    const std::vector<RankId>& ranks = plan_->layout.communicators[communicator->index()].ranks;
    if (peer->valid() && peer->index() >= ranks.size()) return false;
    if (peer->valid()) *peer = ranks[peer->index()];
    return true;
  };
  model::RankReport result;
  result.job = job_;
  result.rank = rank;
  result.number = report.number;
  result.at = report.at;
  result.operations_since = report.operations_since;
  result.is_finalizing = report.is_finalizing;
  result.threads = report.threads;
  for (model::OperationRecord record : report.operations) {
    if (translate(&record.communicator, &record.peer)) result.operations.push_back(std::move(record));
  }
  for (model::ProgressRecord record : report.progress) {
    if (translate(&record.communicator, &record.peer)) result.progress.push_back(record);
  }
  uint32_t busy = 0;
  for (model::ConnectionRecord record : report.connections) {
    if (!translate(&record.key.communicator, &record.key.peer)) continue;
    busy += record.phase != model::TransferPhase::kIdle ? 1 : 0;
    result.connections.push_back(record);
  }
  result.busy_connections = busy;
  return result;
}

model::HostReport JobAssembler::ReportHost(const HostLook& look) const {
  model::HostReport result;
  result.job = job_;
  result.host = look.host;
  result.number = look.number;
  result.at = look.at;
  result.symptoms = look.symptoms;
  std::set<RankId> reported;
  for (const HostLook::Process& process : look.processes) {
    const auto rank = plan_->ranks.find({look.host, process.report.pid, process.report.process_start});
    if (rank == plan_->ranks.end() || !reported.insert(rank->second).second) continue;
    result.ranks.push_back({.rank = rank->second, .state = process.state, .exit = process.exit});
  }
  // Those that were seen to be gone in an earlier look are so still.
  auto of_host = plan_->ranks.lower_bound({.host = look.host, .pid = INT32_MIN, .start = 0});
  for (; of_host != plan_->ranks.end() && of_host->first.host == look.host; ++of_host) {
    const auto& [key, rank] = *of_host;
    const auto process = processes_.find(key);
    if (process != processes_.end() && process->second.is_gone && reported.insert(rank).second) {
      result.ranks.push_back({.rank = rank, .state = model::ProcessState::kGone, .exit = process->second.exit});
    }
  }
  std::ranges::sort(result.ranks, {}, &model::RankLiveness::rank);
  return result;
}

}  // namespace fairlead::telemetry
