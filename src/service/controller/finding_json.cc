#include "service/controller/finding_json.h"

#include <algorithm>

#include "report/finding_text.h"
#include "service/controller/finding_detail.h"

namespace fairlead::service {
namespace {

// What is not known is null.
Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json ToJson(const wire::LiveFinding& finding) {
  Json candidates = Json::array();
  for (const wire::LiveCandidate& candidate : finding.candidates) {
    candidates.push_back({{"culprit", candidate.culprit},
                          {"host", candidate.host},
                          {"why", candidate.why},
                          {"evidence", candidate.evidence}});
  }
  return {{"job", finding.job},
          {"id", finding.id},
          {"syndrome", finding.syndrome},
          {"culprits", finding.culprits},
          {"hosts", finding.hosts},
          {"ranks", finding.ranks},
          {"suspected_at_s", OrNull(finding.suspected_at_s)},
          {"confirmed_at_s", OrNull(finding.confirmed_at_s)},
          {"cleared_at_s", OrNull(finding.cleared_at_s)},
          {"confidence", OrNull(finding.confidence)},
          {"cost_share", OrNull(finding.cost_share)},
          {"cost_gpu_hours", OrNull(finding.cost_gpu_hours)},
          {"action", finding.action},
          {"sub_cause", finding.sub_cause},
          {"signs", finding.signs},
          {"text", finding.text},
          {"evidence", finding.evidence},
          {"candidates", std::move(candidates)}};
}

report::CulpritNames NamesIn(const topology::Fabric& fabric) {
  const auto leaf_name = [&](model::LeafId leaf) {
    return fabric.NodeName(fabric.switches(topology::NodeKind::kLeaf)[leaf.index()]);
  };
  return {.host = [&](HostId host) { return fabric.HostName(host); },
          .nic = [&](NicId nic) { return fabric.NodeName(fabric.node_of(nic)); },
          .leaf = leaf_name};
}

// Of the others about its hosts, the newest first, as many as people look at.
std::vector<wire::PastFinding> HistoryOf(const model::Finding& finding, std::span<const controller::WatchedFinding> all,
                                         const report::CulpritNames& names) {
  constexpr size_t kHistoryMax = 20;
  const std::set<HostId> hosts = HostsOf(finding);
  std::vector<wire::PastFinding> history;
  for (auto other = all.rbegin(); other != all.rend() && history.size() < kHistoryMax; ++other) {
    const std::set<HostId> its_hosts = HostsOf(other->finding);
    const bool is_about = std::ranges::any_of(its_hosts, [&](HostId host) { return hosts.contains(host); });
    if (other->finding.id == finding.id || !is_about) continue;
    const wire::LiveFinding live = MakeLive(other->job, other->finding, names);
    history.push_back({.id = live.id,
                       .job = live.job,
                       .text = live.text,
                       .confirmed_at_s = live.confirmed_at_s,
                       .cleared_at_s = live.cleared_at_s});
  }
  return history;
}

}  // namespace

std::set<HostId> HostsOf(const model::Finding& finding) {
  std::set<HostId> hosts;
  for (const model::Culprit& culprit : finding.culprits) {
    if (culprit.host.valid()) hosts.insert(culprit.host);
  }
  return hosts;
}

std::string CulpritText(const model::Culprit& culprit, const topology::Fabric& fabric) {
  return report::CulpritText(culprit, NamesIn(fabric));
}

std::optional<wire::FindingDetail> FindingDetailOf(const controller::JobWatch& watch, model::FindingId id,
                                                   const topology::Fabric& fabric) {
  const std::vector<controller::WatchedFinding> all = watch.Findings();
  const auto found = std::ranges::find(all, id, [](const auto& watched) { return watched.finding.id; });
  if (found == all.end()) return std::nullopt;
  const report::CulpritNames names = NamesIn(fabric);
  wire::FindingDetail detail = MakeDetail(found->job, found->finding, watch.ProofOf(id), names);
  detail.history = HistoryOf(found->finding, all, names);
  return detail;
}

std::optional<Json> FindingJson(const controller::JobWatch& watch, model::FindingId id,
                                const topology::Fabric& fabric) {
  const auto detail = FindingDetailOf(watch, id, fabric);
  return detail ? std::optional(codec::ToJson(*detail)) : std::nullopt;
}

std::vector<wire::FindingDetail> FindingsOfJob(const controller::JobWatch& watch, const std::string& job,
                                               const topology::Fabric& fabric, size_t num_max) {
  std::vector<wire::FindingDetail> details;
  const report::CulpritNames names = NamesIn(fabric);
  const std::vector<controller::WatchedFinding> all = watch.Findings();
  for (auto watched = all.rbegin(); watched != all.rend() && details.size() < num_max; ++watched) {
    if (watched->job != job) continue;
    details.push_back(MakeDetail(watched->job, watched->finding, watch.ProofOf(watched->finding.id), names));
  }
  std::ranges::reverse(details);
  return details;
}

Json FindingsJson(std::span<const controller::WatchedFinding> findings, const topology::Fabric& fabric) {
  Json list = Json::array();
  const report::CulpritNames names = NamesIn(fabric);
  for (const controller::WatchedFinding& watched : findings) {
    list.push_back(ToJson(MakeLive(watched.job, watched.finding, names)));
  }
  return {{"findings", std::move(list)}};
}

}  // namespace fairlead::service
