#include "service/controller/finding_json.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/finding_text.h"
#include "service/controller/finding_detail.h"

namespace fairlead::service {
namespace {

Json SecondsOf(SimTime time) { return time == SimTime::Never() ? Json() : Json(time.seconds().value()); }

Json ToJson(const controller::WatchedFinding& watched, const topology::Fabric& fabric) {
  const model::Finding& finding = watched.finding;
  Json culprits = Json::array();
  std::set<HostId> hosts;
  std::set<model::RankId> ranks;
  for (const model::Culprit& culprit : finding.culprits) {
    culprits.push_back(CulpritText(culprit, fabric));
    if (culprit.host.valid()) hosts.insert(culprit.host);
    if (culprit.rank.valid()) ranks.insert(culprit.rank);
  }
  Json host_names = Json::array();
  for (const HostId host : hosts) host_names.push_back(fabric.HostName(host));
  Json rank_numbers = Json::array();
  for (const model::RankId rank : ranks) rank_numbers.push_back(rank.value());
  Json evidence = Json::array();
  for (const model::Evidence& one : finding.evidence) evidence.push_back(report::EvidenceText(one));
  Json signs = Json::array();
  for (const model::Sign sign : finding.signs) signs.push_back(model::Name(sign));
  return {{"job", watched.job},
          {"id", finding.id.value()},
          {"syndrome", model::Name(finding.syndrome)},
          {"culprits", std::move(culprits)},
          {"hosts", std::move(host_names)},
          {"ranks", std::move(rank_numbers)},
          {"suspected_at_s", SecondsOf(finding.first_seen)},
          {"confirmed_at_s", SecondsOf(finding.confirmed)},
          {"cleared_at_s", SecondsOf(finding.cleared)},
          {"confidence", std::isfinite(finding.confidence) ? Json(finding.confidence) : Json()},
          {"cost_share", finding.cost_share ? Json(*finding.cost_share) : Json()},
          {"cost_gpu_hours", finding.cost_gpu_hours ? Json(*finding.cost_gpu_hours) : Json()},
          {"action", model::Name(finding.action)},
          {"sub_cause", model::Name(finding.sub_cause)},
          {"signs", std::move(signs)},
          {"text", finding.summary},
          {"evidence", std::move(evidence)}};
}

report::CulpritNames NamesIn(const topology::Fabric& fabric) {
  const auto leaf_name = [&](model::LeafId leaf) {
    return fabric.NodeName(fabric.switches(topology::NodeKind::kLeaf)[leaf.index()]);
  };
  return {.host = [&](HostId host) { return fabric.HostName(host); },
          .nic = [&](NicId nic) { return fabric.NodeName(fabric.node_of(nic)); },
          .leaf = leaf_name};
}

// The newest first, as many as people look at.
std::vector<wire::PastFinding> HistoryOf(const wire::LiveFinding& finding, const controller::JobWatch& watch,
                                         const report::CulpritNames& names) {
  constexpr size_t kHistoryMax = 20;
  std::vector<wire::PastFinding> history;
  const std::vector<controller::WatchedFinding> all = watch.Findings();
  for (auto other = all.rbegin(); other != all.rend() && history.size() < kHistoryMax; ++other) {
    if (other->finding.id.value() == finding.id) continue;
    const wire::LiveFinding live = MakeLive(other->job, other->finding, names);
    const bool is_about = std::ranges::any_of(live.hosts, [&](const std::string& host) {
      return std::ranges::find(finding.hosts, host) != finding.hosts.end();
    });
    if (!is_about) continue;
    history.push_back({.id = live.id,
                       .job = live.job,
                       .text = live.text,
                       .confirmed_at_s = live.confirmed_at_s,
                       .cleared_at_s = live.cleared_at_s});
  }
  return history;
}

}  // namespace

std::string CulpritText(const model::Culprit& culprit, const topology::Fabric& fabric) {
  return report::CulpritText(culprit, NamesIn(fabric));
}

std::optional<Json> FindingJson(const controller::JobWatch& watch, model::FindingId id,
                                const topology::Fabric& fabric) {
  const std::vector<controller::WatchedFinding> all = watch.Findings();
  const auto found = std::ranges::find(all, id, [](const auto& watched) { return watched.finding.id; });
  if (found == all.end()) return std::nullopt;
  const report::CulpritNames names = NamesIn(fabric);
  wire::FindingDetail detail = MakeDetail(found->job, found->finding, watch.ProofOf(id), names);
  detail.history = HistoryOf(detail.finding, watch, names);
  return codec::ToJson(detail);
}

Json FindingsJson(std::span<const controller::WatchedFinding> findings, const topology::Fabric& fabric) {
  Json list = Json::array();
  for (const controller::WatchedFinding& finding : findings) list.push_back(ToJson(finding, fabric));
  return {{"findings", std::move(list)}};
}

}  // namespace fairlead::service
