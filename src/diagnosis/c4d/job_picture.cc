#include "diagnosis/c4d/job_picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

using model::CommunicatorId;
using model::ConnectionKey;
using model::RankId;

// When something happened on the master's clock that a report made at `at` tells at `now`.
SimTime OnOwnClock(SimTime now, SimTime at, SimTime instant) {
  return instant >= at ? now : std::max(SimTime(), now - (at - instant));
}

}  // namespace

Status JobPicture::ValidateLayout(const model::JobLayout& layout) {
  const size_t num_ranks = layout.ranks.size();
  for (size_t r = 0; r < num_ranks; ++r) {
    if (layout.ranks[r].host.valid()) continue;
    return InvalidArgument(fmt::format("job layout: rank {}: expected a host, found none", r));
  }
  std::vector<uint32_t> seen(num_ranks, 0);
  for (size_t c = 0; c < layout.communicators.size(); ++c) {
    const model::Communicator& communicator = layout.communicators[c];
    for (const RankId rank : communicator.ranks) {
      if (!rank.valid() || rank.index() >= num_ranks) {
        return InvalidArgument(fmt::format("job layout: communicator {} ({}): expected ranks below {}, found {}", c,
                                           communicator.name, num_ranks, rank.value()));
      }
      if (seen[rank.index()] == c + 1) {
        return InvalidArgument(
            fmt::format("job layout: communicator {} ({}): rank {} appears twice", c, communicator.name, rank.value()));
      }
      seen[rank.index()] = static_cast<uint32_t>(c + 1);
    }
  }
  return OkStatus();
}

JobPicture::JobPicture(model::JobLayout layout, SimTime start, model::PlaceNames names)
    : layout_(std::move(layout)), names_(std::move(names)), last_heard_(start), last_progress_(start), start_(start) {
  ranks_.resize(layout_.ranks.size());
  for (const model::RankPlace& place : layout_.ranks) {
    HostState& host = hosts_.emplace_back();
    host.id = place.host;
    host.last_heard = start;
  }
  std::sort(hosts_.begin(), hosts_.end(), [](const HostState& a, const HostState& b) { return a.id < b.id; });
  hosts_.erase(
      std::unique(hosts_.begin(), hosts_.end(), [](const HostState& a, const HostState& b) { return a.id == b.id; }),
      hosts_.end());
  for (size_t r = 0; r < ranks_.size(); ++r) {
    HostState* host = FindHost(layout_.ranks[r].host);
    host->ranks.emplace_back(r);
    ranks_[RankId(r)].host = static_cast<uint32_t>(host - hosts_.data());
  }
  for (size_t c = 0; c < layout_.communicators.size(); ++c) {
    const std::vector<RankId>& ranks = layout_.communicators[c].ranks;
    communicators_.push_back(CommunicatorState(static_cast<uint32_t>(ranks.size())));
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks_[ranks[i]].memberships.push_back({CommunicatorId(c), static_cast<uint32_t>(i)});
    }
  }
}

bool JobPicture::Add(SimTime now, const model::RankReport& report, const CompletionSink& sink) {
  if (report.job != layout_.job || !report.rank.valid() || report.rank.index() >= ranks_.size()) {
    ++counters_.foreign_reports;
    return false;
  }
  RankState& rank = ranks_[report.rank];
  const std::optional<uint32_t> serial = rank.numbers.Add(report.number, report.at, now);
  if (!serial) {
    ++counters_.repeated_reports;
    return false;
  }
  ++counters_.reports;
  rank.last_heard = hosts_[rank.host].last_heard = last_heard_ = now;
  rank.has_reported = true;
  if (rank.is_silent) SetSilent(report.rank, false);
  rank.is_finalizing |= report.is_finalizing;
  if (!report.threads.empty()) {
    rank.threads = report.threads;
    rank.threads_heard = now;
  }
  touched_.clear();
  for (const model::OperationRecord& record : report.operations) AddOperation(now, report, *serial, record);
  for (const model::ProgressRecord& record : report.progress) AddProgress(now, report, *serial, record);
  const auto note_whole = [&](RankState::WholeReport& whole) {
    if (*serial > whole.serial) whole = {*serial, now};
  };
  if (TellsAllOperations(report)) note_whole(rank.reported_operations);
  const auto num_busy = std::count_if(report.connections.begin(), report.connections.end(),
                                      [](const auto& c) { return c.phase != model::TransferPhase::kIdle; });
  if (report.busy_connections && num_busy == static_cast<ptrdiff_t>(*report.busy_connections)) {
    note_whole(rank.reported_connections);
  }
  for (size_t i = 0; i < report.connections.size(); ++i) {
    AddConnection(now, report, *serial, report.connections[i], i);
  }
  for (const CommunicatorId id : touched_) HandOutCompleted(id, sink);
  return true;
}

void JobPicture::NoteAnswer(SimTime now, HostId host) {
  if (HostState* known = FindHost(host); known != nullptr) known->last_answer = now;
}

bool JobPicture::Add(SimTime now, const model::HostReport& report) {
  HostState* host = report.job == layout_.job ? FindHost(report.host) : nullptr;
  if (host == nullptr) {
    ++counters_.foreign_reports;
    return false;
  }
  const SimTime newest_before = host->numbers.newest_at();
  if (!host->numbers.Add(report.number, report.at, now)) {
    ++counters_.repeated_reports;
    return false;
  }
  ++counters_.reports;
  host->last_heard = last_heard_ = now;
  for (const model::HostSymptomRecord& symptom : report.symptoms) {
    if (host->symptoms.size() == HostState::kMaxSymptoms) host->symptoms.erase(host->symptoms.begin());
    host->symptoms.push_back({symptom, now});
  }
  // A late report updates symptoms, but not which ranks run.
  if (report.at < newest_before) return true;
  for (const model::RankLiveness& liveness : report.ranks) {
    const bool is_here = liveness.rank.valid() && liveness.rank.index() < ranks_.size() &&
                         layout_.ranks[liveness.rank.index()].host == report.host;
    if (!is_here) {
      ++counters_.damaged_records;
      continue;
    }
    NoteLiveness(now, report.at, liveness, &ranks_[liveness.rank]);
  }
  return true;
}

void JobPicture::NoteLiveness(SimTime now, SimTime at, const model::RankLiveness& liveness, RankState* rank) {
  const bool was_gone = rank->process == model::ProcessState::kGone;
  rank->process = liveness.state;
  if (liveness.state != model::ProcessState::kGone) {
    rank->alive_until = now;
    rank->exit = {};
    return;
  }
  if (was_gone) return;
  rank->exit = liveness.exit;
  rank->gone_at = liveness.exit.at.has_value() ? OnOwnClock(now, at, *liveness.exit.at) : now;
  if (liveness.exit.at.has_value()) rank->alive_until = rank->gone_at - liveness.exit.within;
  rank->alive_until = std::min(rank->alive_until, rank->gone_at);
}

void JobPicture::SetSilent(RankId rank, bool is_silent) {
  ranks_[rank].is_silent = is_silent;
  for (const Membership& membership : ranks_[rank].memberships) {
    communicators_[membership.communicator].collectives.SetSilent(membership.position, is_silent);
  }
}

void JobPicture::NoteSilence(SimTime now, SimDuration silent_after) {
  if (now - last_heard_ >= silent_after) return;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const RankState& rank = ranks_[RankId(r)];
    const SimTime heard = std::max(start_, rank.last_heard);
    if (!rank.is_silent && now - heard >= silent_after) SetSilent(RankId(r), true);
  }
}

std::optional<uint32_t> JobPicture::PositionOf(RankId rank, CommunicatorId communicator) const {
  const std::vector<Membership>& memberships = ranks_[rank].memberships;
  const auto found = std::lower_bound(memberships.begin(), memberships.end(), communicator,
                                      [](const Membership& m, CommunicatorId id) { return m.communicator < id; });
  if (found == memberships.end() || found->communicator != communicator) return std::nullopt;
  return found->position;
}

std::span<const ConnectionState> JobPicture::ConnectionsOf(RankId rank, CommunicatorId communicator) const {
  const std::vector<ConnectionState>& all = ranks_[rank].connections;
  const auto first =
      std::lower_bound(all.begin(), all.end(), communicator,
                       [](const ConnectionState& c, CommunicatorId id) { return c.key.communicator < id; });
  const auto last = std::upper_bound(first, all.end(), communicator, [](CommunicatorId id, const ConnectionState& c) {
    return id < c.key.communicator;
  });
  return {first, last};
}

const ConnectionState* JobPicture::FindConnection(RankId rank, const ConnectionKey& key) const {
  const std::vector<ConnectionState>& all = ranks_[rank].connections;
  const auto found = std::lower_bound(all.begin(), all.end(), key,
                                      [](const ConnectionState& c, const ConnectionKey& k) { return c.key < k; });
  return found == all.end() || found->key != key ? nullptr : &*found;
}

void JobPicture::AddOperation(SimTime now, const model::RankReport& report, uint32_t serial,
                              const model::OperationRecord& record) {
  const bool exists = record.communicator.valid() && record.communicator.index() < communicators_.size();
  const std::optional<uint32_t> position =
      exists ? PositionOf(report.rank, record.communicator) : std::optional<uint32_t>();
  const std::optional<uint32_t> peer =
      position && IsTransfer(record.kind) && record.peer.valid() && record.peer.index() < ranks_.size()
          ? PositionOf(record.peer, record.communicator)
          : std::optional<uint32_t>();
  if (!position || (IsTransfer(record.kind) && !peer)) {
    ++counters_.damaged_records;
    return;
  }
  CommunicatorState& communicator = communicators_[record.communicator];
  RecordContext context;
  context.serial = serial;
  context.enqueued = OnOwnClock(now, report.at, record.enqueued);
  context.advanced = context.enqueued;
  if (record.started) context.advanced = OnOwnClock(now, report.at, *record.started);
  if (record.finished) context.advanced = OnOwnClock(now, report.at, *record.finished);
  bool is_news = false;
  bool contradicts = false;
  bool deviates = false;
  std::optional<SimTime> pending_since = PendingSince(communicator);
  if (!pending_since) pending_since = context.enqueued;
  if (peer) {
    const TransferTable::Outcome outcome = communicator.transfers.Add(*position, *peer, record, context);
    communicator.collectives.AlignByKind();
    is_news = outcome.is_news;
    contradicts = outcome.contradicts;
    deviates = outcome.deviates;
    communicator.num_completed += outcome.finished;
    if (outcome.finished > 0) {
      communicator.durations.Add(record.kind, record.bytes, *record.finished - *record.started);
    }
  } else {
    const CollectiveTable::Outcome outcome = communicator.collectives.Add(*position, record, context);
    is_news = outcome.is_news;
    contradicts = outcome.contradicts;
    deviates = outcome.deviates;
    if (touched_.empty() || touched_.back() != record.communicator) touched_.push_back(record.communicator);
  }
  if (contradicts) ++counters_.contradictions;
  if (deviates && std::find(disputed_.begin(), disputed_.end(), record.communicator) == disputed_.end()) {
    disputed_.push_back(record.communicator);
  }
  if (is_news && record.started) NoteProgress(report.rank, record.communicator, context.advanced, pending_since);
}

void JobPicture::AddProgress(SimTime now, const model::RankReport& report, uint32_t serial,
                             const model::ProgressRecord& record) {
  const bool exists = record.communicator.valid() && record.communicator.index() < communicators_.size();
  const std::optional<uint32_t> position =
      exists ? PositionOf(report.rank, record.communicator) : std::optional<uint32_t>();
  const bool is_transfer = IsTransfer(record.kind);
  const std::optional<uint32_t> peer =
      position && is_transfer && record.peer.valid() && record.peer.index() < ranks_.size()
          ? PositionOf(record.peer, record.communicator)
          : std::optional<uint32_t>();
  if (!position || (is_transfer && !peer)) {
    ++counters_.damaged_records;
    return;
  }
  CommunicatorState& communicator = communicators_[record.communicator];
  const std::optional<SimTime> pending_since = PendingSince(communicator);
  bool is_news = false;
  bool contradicts = false;
  if (peer) {
    // The exact time is unknown: since the previous report.
    const TransferTable::Outcome outcome =
        communicator.transfers.AddProgress(*position, *peer, record, {serial, now, now});
    communicator.num_completed += outcome.finished;
    is_news = outcome.is_news;
    contradicts = outcome.contradicts;
  } else {
    const CollectiveTable::Outcome outcome = communicator.collectives.AddProgress(*position, record);
    is_news = outcome.is_news;
    contradicts = outcome.contradicts;
    if (is_news) touched_.push_back(record.communicator);
  }
  if (contradicts) ++counters_.contradictions;
  if (is_news) NoteProgress(report.rank, record.communicator, now, pending_since);
}

bool JobPicture::TellsAllOperations(const model::RankReport& report) {
  size_t num_reported = 0;  // communicators
  pending_.clear();
  for (const model::ProgressRecord& progress : report.progress) {
    num_reported += IsTransfer(progress.kind) ? 0 : 1;
    pending_.push_back(progress.enqueued - progress.finished);
  }
  if (num_reported < ranks_[report.rank].memberships.size()) return false;
  for (const model::OperationRecord& operation : report.operations) {
    if (operation.finished) continue;
    const bool is_transfer = IsTransfer(operation.kind);
    const auto of_lane =
        std::find_if(report.progress.begin(), report.progress.end(), [&](const model::ProgressRecord& progress) {
          return progress.communicator == operation.communicator && IsTransfer(progress.kind) == is_transfer &&
                 (!is_transfer || (progress.kind == operation.kind && progress.peer == operation.peer));
        });
    if (of_lane == report.progress.end()) return false;
    --pending_[static_cast<size_t>(of_lane - report.progress.begin())];
  }
  return std::all_of(pending_.begin(), pending_.end(), [](uint64_t missing) { return missing == 0; });
}

void JobPicture::AddConnection(SimTime now, const model::RankReport& report, uint32_t serial,
                               const model::ConnectionRecord& record, size_t hint) {
  const ConnectionKey& key = record.key;
  const bool exists = key.communicator.valid() && key.communicator.index() < communicators_.size() &&
                      key.peer.valid() && key.peer.index() < ranks_.size();
  if (!exists) {
    ++counters_.damaged_records;
    return;
  }
  // Reports tend to name the same connections in the same order.
  std::vector<ConnectionState>& all = ranks_[report.rank].connections;
  auto state = all.begin() + static_cast<ptrdiff_t>(std::min(hint, all.size()));
  if (state == all.end() || state->key != key) {
    state = std::lower_bound(all.begin(), all.end(), key,
                             [](const ConnectionState& c, const ConnectionKey& k) { return c.key < k; });
  }
  if (state == all.end() || state->key != key) {
    const bool is_member = PositionOf(report.rank, key.communicator) && PositionOf(key.peer, key.communicator);
    if (!is_member) {
      ++counters_.damaged_records;
      return;
    }
    state = all.insert(state, ConnectionState());
    state->key = key;
  }
  if (record.messages > 0) {
    NoteProgress(report.rank, key.communicator, OnOwnClock(now, report.at, record.last_progress),
                 PendingSince(communicators_[key.communicator]));
  }
  if (serial < state->serial) return;
  state->serial = serial;
  state->in_flight = record.in_flight;
  state->phase = record.phase;
  state->phase_since = OnOwnClock(now, report.at, record.phase_since);
}

std::optional<SimTime> JobPicture::PendingSince(const CommunicatorState& communicator) {
  // When which transfer became pending is not looked for: since the latest progress at most.
  if (communicator.transfers.num_pending_lanes() > 0) return SimTime();
  if (communicator.collectives.open().empty()) return std::nullopt;
  return communicator.collectives.open().front().since;
}

void JobPicture::NoteProgress(RankId rank, CommunicatorId communicator, SimTime time,
                              std::optional<SimTime> pending_since) {
  SimTime& of_rank = ranks_[rank].last_progress;
  SimTime& of_communicator = communicators_[communicator].last_progress;
  const bool is_first = of_communicator == SimTime();
  const SimDuration wait =
      is_first || !pending_since ? SimDuration(0) : time - std::max(of_communicator, *pending_since);
  communicators_[communicator].waits.Add(time, std::max(wait, SimDuration(0)));
  of_rank = std::max(of_rank, time);
  of_communicator = std::max(of_communicator, time);
  last_progress_ = std::max(last_progress_, time);
}

void JobPicture::HandOutCompleted(CommunicatorId id, const CompletionSink& sink) {
  CommunicatorState& communicator = communicators_[id];
  while (std::optional<OpenOperation> operation = communicator.collectives.TakeCompleted()) {
    ++communicator.num_completed;
    const OperationSignature& signature = operation->signature;
    const bool is_disputed = operation->has_holes && !operation->deviations.empty();
    if (is_disputed) settled_disputes_.push_back({id, *operation});
    if (operation->has_holes) {
      ++counters_.incomplete_operations;
      continue;
    }
    instants_.clear();
    SimDuration longest;
    const std::vector<RankId>& ranks = layout_.communicators[id.index()].ranks;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const MemberProgress& member = operation->members[i];
      if (member.stage != Stage::kFinished) continue;  // silent
      instants_.push_back({ranks[i], member.enqueued, member.started, member.finished});
      longest = std::max(longest, member.finished - member.started);
    }
    communicator.durations.Add(signature.kind, signature.bytes, longest);
    communicator.remembered.resize(CommunicatorState::kRemembered);
    communicator.remembered[communicator.num_remembered++ % CommunicatorState::kRemembered] = signature;
    if (sink) sink({id, signature.kind, signature.sequence, signature.bytes, instants_});
  }
}

HostState* JobPicture::FindHost(HostId id) {
  const auto found = std::lower_bound(hosts_.begin(), hosts_.end(), id,
                                      [](const HostState& h, HostId wanted) { return h.id < wanted; });
  return found == hosts_.end() || found->id != id ? nullptr : &*found;
}

}  // namespace fairlead::diagnosis::c4d
