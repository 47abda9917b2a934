#include "service/controller/cluster_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace fairlead::service {

namespace {

constexpr std::array<const char*, 12> kColumns = {
    "at_s",     "jobs",           "gpus",         "lost_sharing",    "lost_findings", "isolated_gpus",
    "findings", "isolated_hosts", "links_not_up", "hosts_connected", "path_changes",  "actions"};
constexpr size_t kFirstCounter = 9;  // of the values

double Rounded(double value) { return std::isfinite(value) ? std::round(value * 1000) / 1000 : 0; }

// Whole numbers without a point.
Json Short(double value) {
  const double rounded = Rounded(value);
  if (rounded == std::floor(rounded)) return static_cast<int64_t>(rounded);
  return rounded;
}

bool Hangs(model::Syndrome syndrome) {
  return syndrome == model::Syndrome::kCommHang || syndrome == model::Syndrome::kNonCommHang ||
         syndrome == model::Syndrome::kDead;
}

}  // namespace

ClusterFigures FiguresOf(std::span<const controller::JobOnFabric> jobs,
                         std::span<const controller::WatchedFinding> findings,
                         std::span<const controller::LinkOnFabric> links, std::span<const controller::HostView> hosts,
                         size_t isolated_hosts, double gpus_per_host) {
  ClusterFigures figures;
  std::set<std::string> found, hanging;
  for (const controller::WatchedFinding& watched : findings) {
    if (watched.finding.cleared != SimTime::Never() || watched.finding.confirmed == SimTime::Never()) continue;
    ++figures.findings;
    found.insert(watched.job);
    if (Hangs(watched.finding.syndrome)) hanging.insert(watched.job);
  }
  for (const controller::JobOnFabric& job : jobs) {
    ++figures.jobs;
    figures.gpus += job.num_gpus;
    const double lost = hanging.contains(job.name) ? job.num_gpus : job.lost_gpus().value_or(0);
    (found.contains(job.name) ? figures.lost_findings : figures.lost_sharing) += lost;
  }
  for (const controller::LinkOnFabric& link : links) {
    figures.links_not_up += link.state != traffic::LinkState::kUp || link.health < 1 ? 1 : 0;
  }
  for (const controller::HostView& host : hosts) figures.hosts_connected += host.is_connected ? 1 : 0;
  figures.isolated_hosts = static_cast<double>(isolated_hosts);
  figures.isolated_gpus = figures.isolated_hosts * gpus_per_host;
  return figures;
}

ClusterHistory::Values ClusterHistory::ValuesOf(const ClusterFigures& f) {
  return {f.jobs,           f.gpus,         f.lost_sharing,    f.lost_findings, f.isolated_gpus, f.findings,
          f.isolated_hosts, f.links_not_up, f.hosts_connected, f.path_changes,  f.actions};
}

std::string ClusterHistory::KeyOf(int64_t at_s) const {
  const auto place = static_cast<uint64_t>(at_s / period_s()) % options_.num_periods;
  return fmt::format("{}{:06}", kPrefix, place);
}

void ClusterHistory::Keep(const Period& period) {
  periods_.push_back(period);
  if (periods_.size() > options_.num_periods) periods_.erase(periods_.begin());
}

void ClusterHistory::Restore(SimTime now, std::span<const store::Record> records) {
  const auto oldest_s =
      static_cast<int64_t>(now.seconds().value()) - period_s() * static_cast<int64_t>(options_.num_periods);
  for (const store::Record& record : records) {
    if (!record.key.starts_with(kPrefix)) continue;
    const Json row = Json::parse(record.value, nullptr, false);
    if (!row.is_array() || row.size() != kColumns.size()) continue;
    if (!std::ranges::all_of(row, [](const Json& value) { return value.is_number(); })) continue;
    Period period{.at_s = row[0].get<int64_t>()};
    for (size_t i = 0; i < kNumFigures; ++i) period.values[i] = row[i + 1].get<double>();
    if (period.at_s > oldest_s && period.at_s <= static_cast<int64_t>(now.seconds().value()))
      periods_.push_back(period);
  }
  std::ranges::sort(periods_, {}, &Period::at_s);
}

ClusterHistory::Period ClusterHistory::Average() const {
  Period period{.at_s = at_s_.value_or(0)};
  for (size_t i = 0; i < kNumFigures; ++i) {
    period.values[i] = i < kFirstCounter ? sums_[i] / static_cast<double>(std::max<size_t>(1, num_looks_))
                                         : std::max(0.0, last_[i] - first_[i]);
  }
  return period;
}

std::optional<store::Change> ClusterHistory::Add(SimTime now, const ClusterFigures& figures) {
  const auto now_s = static_cast<int64_t>(now.seconds().value());
  const int64_t begin_s = now_s - now_s % period_s();
  const Values values = ValuesOf(figures);
  std::optional<store::Change> change;
  if (at_s_ && *at_s_ != begin_s) {
    const Period over = Average();
    Json row = Json::array({over.at_s});
    for (const double value : over.values) row.push_back(Short(value));
    change = store::Change{KeyOf(over.at_s), row.dump()};
    Keep(over);
  }
  if (!at_s_ || *at_s_ != begin_s) {
    // What counters came to since the last look is of the period in which it is seen.
    first_ = at_s_ ? last_ : values;
    at_s_ = begin_s;
    num_looks_ = 0;
    sums_ = {};
    // A controller that was away for less than a period goes on in the same one.
    if (!periods_.empty() && periods_.back().at_s >= begin_s) periods_.pop_back();
  }
  ++num_looks_;
  for (size_t i = 0; i < kNumFigures; ++i) sums_[i] += values[i];
  last_ = values;
  return change;
}

Json ClusterHistory::ToJson(double since_s) const {
  Json rows = Json::array();
  const auto add = [&](const Period& period) {
    if (static_cast<double>(period.at_s) < since_s) return;
    Json row = Json::array({period.at_s});
    for (const double value : period.values) row.push_back(Short(value));
    rows.push_back(std::move(row));
  };
  for (const Period& period : periods_) add(period);
  if (at_s_) add(Average());
  return {{"period_s", period_s()}, {"columns", kColumns}, {"rows", std::move(rows)}};
}

}  // namespace fairlead::service
