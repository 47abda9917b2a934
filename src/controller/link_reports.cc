#include "controller/link_reports.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace fairlead::controller {
namespace {

constexpr std::string_view kLinkPrefix = "link/";

}  // namespace

void LinkReports::Take(const LinkHealthReported& report) {
  if (report.link.index() >= fabric_.num_links()) {
    return outputs_->Note(
        Noted::Severity::kWarning, "links",
        fmt::format("report of link {}: the fabric has {} links", report.link.value(), fabric_.num_links()));
  }
  if (report.health >= 0 && report.health <= 1) Keep(report);
  batch_->Add(traffic::LinkReported{.link = report.link, .health = report.health, .source = report.source});
}

Status LinkReports::Restore(const std::string& key, const std::string& value) {
  if (!key.starts_with(kLinkPrefix)) return OkStatus();
  const std::string name = key.substr(kLinkPrefix.size());
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!json.is_object() || !json.contains("health") || !json["health"].is_number() || !json.contains("source") ||
      !json["source"].is_string()) {
    return DamagedRecord(key);
  }
  const auto health = json["health"].get<double>();
  if (!(health >= 0 && health <= 1)) return DamagedRecord(key);
  const LinkId link = fabric_.FindLink(name);
  if (!link.valid()) {
    // It was taken away: a report of it is of no use.
    outputs_->Note(Noted::Severity::kWarning, "link " + name,
                   "was reported before; the fabric has no such link any more");
    outputs_->Add(RecordChanged{key, std::nullopt});
    return OkStatus();
  }
  reported_[link] = health;
  batch_->Add(traffic::LinkReported{.link = link, .health = health, .source = json["source"].get<std::string>()});
  return OkStatus();
}

void LinkReports::Keep(const LinkHealthReported& report) {
  const auto kept = reported_.find(report.link);
  const double before = kept == reported_.end() ? 1 : kept->second;
  if (report.health == before) return;
  const std::string key = fmt::format("{}{}", kLinkPrefix, fabric_.LinkName(report.link));
  if (report.health == 1) {
    reported_.erase(kept);
    outputs_->Add(RecordChanged{key, std::nullopt});
    return;
  }
  reported_[report.link] = report.health;
  const nlohmann::json value = {{"health", report.health}, {"source", report.source}};
  // Who says so is any text.
  outputs_->Add(RecordChanged{key, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

}  // namespace fairlead::controller
