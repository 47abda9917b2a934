#include "diagnosis/c4d/independent_signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fairlead::diagnosis::c4d {
namespace {

using model::ProcessState;
using model::RankId;
using model::Sign;

// Ranks that a culprit stands for: itself, or all of its host.
std::set<RankId> AccusedRanks(const JobPicture& picture, const model::Finding& finding) {
  std::set<RankId> accused;
  for (const model::Culprit& culprit : finding.culprits) {
    if (culprit.rank.valid()) {
      accused.insert(culprit.rank);
      continue;
    }
    for (const HostState& host : picture.hosts()) {
      if (host.id == culprit.host) accused.insert(host.ranks.begin(), host.ranks.end());
    }
  }
  return accused;
}

bool IsBegun(Stage stage) { return stage == Stage::kEnqueued || stage == Stage::kStarted; }

// Whether a rank that lives has begun what the accused one has not finished.
bool IsWaitedFor(const JobPicture& picture, RankId accused, const std::set<RankId>& all_accused) {
  for (const Membership& membership : picture.ranks()[accused].memberships) {
    const CommunicatorState& communicator = picture.communicators()[membership.communicator];
    const std::vector<RankId>& members = picture.layout().communicators[membership.communicator.index()].ranks;
    for (uint32_t p = 0; p < members.size(); ++p) {
      if (all_accused.contains(members[p]) || picture.ranks()[members[p]].process == ProcessState::kGone) continue;
      for (const OpenOperation& operation : communicator.collectives.open()) {
        if (communicator.collectives.StageOf(operation, membership.position) != Stage::kFinished &&
            IsBegun(communicator.collectives.StageOf(operation, p))) {
          return true;
        }
      }
      const std::vector<Lane>& lanes = communicator.transfers.lanes(p);
      if (std::ranges::any_of(lanes, [&](const Lane& l) { return l.peer == membership.position && l.is_pending(); })) {
        return true;
      }
    }
  }
  return false;
}

// Of several hosts, in units of `silent_after`: agents that start again are back within that.
constexpr int64_t kSeveralSilentFor = 6;

bool IsAccused(const HostState& host, const model::Finding& finding) {
  return std::ranges::any_of(finding.culprits,
                             [&](const model::Culprit& c) { return c.host.valid() && c.host == host.id; });
}

// A device that is broken now, and that an accused rank uses: a GPU of its own, any NIC or port of its host.
bool IsFaultOf(const HostState& host, const HostState::Symptom& symptom, const std::set<RankId>& accused,
               const JobPicture& picture, SimTime now) {
  const model::HostSymptomRecord& record = symptom.record;
  if (!model::IsDeviceFault(record.symptom) || now - symptom.heard > HostState::kSymptomHolds) return false;
  if (!model::IsOfGpu(record.symptom)) return true;
  return std::ranges::any_of(accused, [&](RankId rank) {
    const model::RankPlace& place = picture.layout().ranks[rank.index()];
    return place.host == host.id && place.gpu == record.device;
  });
}

}  // namespace

std::vector<Sign> FindSigns(const JobPicture& picture, const model::Finding& finding, SimTime now,
                            const SilenceOptions& options) {
  const std::set<RankId> accused = AccusedRanks(picture, finding);
  std::set<Sign> signs;
  const bool is_death = finding.syndrome == model::Syndrome::kDead;
  if (finding.syndrome != model::Syndrome::kUnreachable) {
    const bool has_peers =
        !is_death || std::ranges::any_of(accused, [&](RankId rank) { return IsWaitedFor(picture, rank, accused); });
    if (has_peers) signs.insert(Sign::kPeers);
  }
  for (const RankId rank : accused) {
    const RankState& state = picture.ranks()[rank];
    const bool is_reported = state.has_reported && now - state.last_heard < options.silent_after;
    if (!is_death && is_reported) signs.insert(Sign::kOwnRanks);
    if (state.process == ProcessState::kStopped) signs.insert(Sign::kKernel);
    if (state.process == ProcessState::kGone && state.exit.is_broken()) signs.insert(Sign::kKernel);
  }
  std::vector<SimDuration> silences;
  for (const HostState& host : picture.hosts()) {
    if (!IsAccused(host, finding)) continue;
    const bool has_fault = std::ranges::any_of(host.symptoms, [&](const HostState::Symptom& symptom) {
      return IsFaultOf(host, symptom, accused, picture, now);
    });
    if (has_fault) signs.insert(Sign::kDevice);
    // That a process has died is the word of the host's agent, and so is its silence after that.
    const bool is_said = is_death && signs.contains(Sign::kKernel);
    if (!is_said && now - host.last_heard >= options.silent_after) silences.push_back(now - host.last_heard);
  }
  if (!silences.empty()) signs.insert(Sign::kSilence);
  const bool is_one_enough =
      is_death && silences.size() > 1 && std::ranges::min(silences) < options.silent_after * kSeveralSilentFor;
  if (is_one_enough) signs.erase(Sign::kPeers);
  return {signs.begin(), signs.end()};
}

std::vector<model::Evidence> FindReports(const JobPicture& picture, const model::Finding& finding, SimTime now) {
  std::vector<model::Evidence> reports;
  for (const HostState& host : picture.hosts()) {
    if (!IsAccused(host, finding)) continue;
    for (const HostState::Symptom& symptom : host.symptoms) {
      if (symptom.record.text.empty() || now - symptom.heard > HostState::kSymptomHolds) continue;
      const bool is_of_gpu = model::IsOfGpu(symptom.record.symptom);
      const std::string device = is_of_gpu ? fmt::format(", GPU {}", symptom.record.device) : "";
      std::string what =
          fmt::format("\"{}\", reported by {}{}", symptom.record.text, picture.names().Of(host.id), device);
      const auto known = std::ranges::find(reports, what, &model::Evidence::what);
      if (known == reports.end()) {
        reports.push_back({std::move(what), 1, 0, "times"});
      } else {
        ++known->value;
      }
    }
  }
  if (reports.size() > kReportsMax) reports.erase(reports.begin(), reports.end() - kReportsMax);
  return reports;
}

}  // namespace fairlead::diagnosis::c4d
