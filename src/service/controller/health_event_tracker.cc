#include "service/controller/health_event_tracker.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "report/printable_text.h"

namespace fairlead::service {
namespace {

using Json = nlohmann::json;
using model::Finding;
using wire::HealthEvent;

constexpr char kOpenKey[] = "health_events/open";
constexpr char kAgent[] = "fairlead";
constexpr char kComponentClass[] = "Node";
// Conditions of nodes are read by people, in one line.
constexpr size_t kMessageMax = 500;

std::set<HostId> HostsOf(const Finding& finding) {
  std::set<HostId> hosts;
  for (const model::Culprit& culprit : finding.culprits) {
    if (culprit.host.valid()) hosts.insert(culprit.host);
  }
  return hosts;
}

HealthEvent::Action ActionOf(const Finding& finding) {
  switch (finding.action) {
    case model::RecommendedAction::kIsolateAndRestart:
      return HealthEvent::Action::kRestartBareMetal;
    case model::RecommendedAction::kRepairPath:
      return HealthEvent::Action::kContactSupport;
    default:
      return HealthEvent::Action::kNone;
  }
}

}  // namespace

std::string CheckName(model::Syndrome syndrome) {
  std::string name = "Fairlead";
  bool is_first = true;
  for (const char c : model::Name(syndrome)) {
    if (c == '_') {
      is_first = true;
      continue;
    }
    name += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_first = false;
  }
  return name;
}

Result<HealthEventTracker> HealthEventTracker::Restore(SimTime now, const HealthEventOptions& options,
                                                       controller::SteeringNames names, store::Store* store) {
  HealthEventTracker tracker(now, options, std::move(names), store);
  FL_ASSIGN_OR_RETURN(const auto records, store->List(kOpenKey));
  if (records.empty()) return tracker;
  const Status damaged(StatusCode::kDataLoss, std::string("store: record ") + kOpenKey + " can't be read");
  const Json json = Json::parse(records.front().value, nullptr, false);
  if (!json.is_array()) return damaged;
  for (const Json& item : json) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_string()) return damaged;
    const Key key(item[0].get<std::string>(), item[1].get<std::string>());
    tracker.open_[key];
    tracker.inherited_.insert(key);
  }
  tracker.kept_ = records.front().value;
  return tracker;
}

std::vector<HealthEvent> HealthEventTracker::Handle(SimTime now, std::span<const controller::SteeringEvent> events) {
  std::vector<HealthEvent> reported;
  for (const controller::SteeringEvent& event : events) {
    const auto* finding = std::get_if<controller::FindingReported>(&event);
    if (finding == nullptr) continue;
    if (finding->finding.state == model::FindingState::kConfirmed) Open(now, finding->finding, &reported);
    if (finding->finding.state == model::FindingState::kCleared) Close(now, finding->finding, &reported);
  }
  if (now >= started_ + options_.inherited_for) {
    for (const Key& key : inherited_) {
      open_.erase(key);
      reported.push_back(Healthy(now, key));
    }
    inherited_.clear();
  }
  if (!reported.empty()) Keep();
  return reported;
}

void HealthEventTracker::Open(SimTime now, const Finding& finding, std::vector<HealthEvent>* events) {
  for (const HostId host : HostsOf(finding)) {
    const Key key(report::CleanText(names_.Of(host)), CheckName(finding.syndrome));
    inherited_.erase(key);
    if (!open_[key].insert(finding.id).second) continue;
    HealthEvent event;
    event.node = key.first;
    event.check = key.second;
    event.agent = kAgent;
    event.component_class = kComponentClass;
    const bool is_about_host = finding.action == model::RecommendedAction::kIsolateAndRestart;
    event.is_fatal = options_.may_be_acted_upon && is_about_host;
    event.may_be_acted_upon = event.is_fatal;
    event.message = report::TruncateToWidth(report::CleanText(finding.summary), kMessageMax);
    // Receivers join messages by semicolons, and part them there.
    std::replace(event.message.begin(), event.message.end(), ';', ',');
    event.action = ActionOf(finding);
    event.error_codes = {std::string(model::Name(finding.syndrome))};
    event.entities = {{"JOB", report::CleanText(names_.Of(finding.job))}};
    for (const model::Culprit& culprit : finding.culprits) {
      if (culprit.host == host && culprit.rank.valid()) {
        event.entities.push_back({"RANK", std::to_string(culprit.rank.value())});
      }
    }
    event.generated = now;
    events->push_back(std::move(event));
  }
}

void HealthEventTracker::Close(SimTime now, const Finding& finding, std::vector<HealthEvent>* events) {
  for (auto entry = open_.begin(); entry != open_.end();) {
    const bool was_in = entry->second.erase(finding.id) > 0;
    if (!was_in || !entry->second.empty()) {
      ++entry;
      continue;
    }
    events->push_back(Healthy(now, entry->first));
    entry = open_.erase(entry);
  }
}

HealthEvent HealthEventTracker::Healthy(SimTime now, const Key& key) {
  HealthEvent event;
  event.node = key.first;
  event.check = key.second;
  event.agent = kAgent;
  event.component_class = kComponentClass;
  event.is_healthy = true;
  event.message = "nothing is found any more";
  event.generated = now;
  return event;
}

void HealthEventTracker::Keep() {
  Json json = Json::array();
  for (const auto& [key, findings] : open_) json.push_back({key.first, key.second});
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text == kept_) return;
  const store::Change change = {kOpenKey, text};
  if (store_->Apply({&change, 1}).ok()) kept_ = std::move(text);
}

}  // namespace fairlead::service
