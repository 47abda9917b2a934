#include "service/controller/incident_reporter.h"

#include <nlohmann/json.hpp>
#include <optional>

namespace fairlead::service {
namespace {

using report::Json;

std::string LineText(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> LineNumber(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

// What has to be done before the job can run again.
bool BelongsToIncident(const std::string& step) {
  return step == "isolate_host" || step == "stop_job" || step == "take_spare" || step == "restart_job";
}

// Of one finding, as far as the log goes back.
struct SteeredIncident {
  size_t num_lines = 0;
  bool has_open_actions = false;
  std::optional<double> job;
  std::optional<double> restart_ended_s;
  bool runs_again = false;
};

class SteeringLog {
 public:
  explicit SteeringLog(const Json& steering) {
    const Json empty = Json::array();
    const auto list = [&](const char* key) -> const Json& {
      const auto found = steering.find(key);
      return found != steering.end() && found->is_array() ? *found : empty;
    };
    for (const Json& action : list("open_actions")) {
      if (const auto number = LineNumber(action, "action")) open_.insert(*number);
    }
    for (const Json& line : list("log")) TakeAction(line);
    for (const Json& line : list("log")) TakeOutcome(line);
    for (const Json& line : list("log")) TakeRunning(line);
  }

  SteeredIncident Of(model::FindingId finding) const {
    const auto found = incidents_.find(static_cast<double>(finding.value()));
    return found == incidents_.end() ? SteeredIncident() : found->second;
  }

 private:
  void TakeAction(const Json& line) {
    const auto finding = LineNumber(line, "finding");
    const auto action = LineNumber(line, "action");
    if (LineText(line, "kind") != "action" || !finding || !action) return;
    SteeredIncident& incident = incidents_[*finding];
    ++incident.num_lines;
    if (const auto job = LineNumber(line, "job")) incident.job = job;
    finding_of_[*action] = *finding;
    if (!BelongsToIncident(LineText(line, "step"))) return;
    incident.has_open_actions |= open_.contains(*action);
    if (LineText(line, "step") == "restart_job") restarts_.insert(*action);
  }

  void TakeOutcome(const Json& line) {
    const auto action = LineNumber(line, "action");
    if (LineText(line, "outcome") != "attempt" || !action || !finding_of_.contains(*action)) return;
    SteeredIncident& incident = incidents_[finding_of_[*action]];
    ++incident.num_lines;
    const auto succeeded = line.find("succeeded");
    const bool has_succeeded = succeeded != line.end() && succeeded->is_boolean() && succeeded->get<bool>();
    if (restarts_.contains(*action) && has_succeeded) incident.restart_ended_s = LineNumber(line, "at_s");
  }

  void TakeRunning(const Json& line) {
    if (LineText(line, "outcome") != "job_running") return;
    const auto at_s = LineNumber(line, "at_s");
    for (auto& [finding, incident] : incidents_) {
      if (!incident.restart_ended_s || !incident.job || incident.job != LineNumber(line, "job")) continue;
      if (!at_s || *at_s < *incident.restart_ended_s) continue;
      incident.runs_again = true;
      ++incident.num_lines;
    }
  }

  std::set<double> open_;
  std::map<double, SteeredIncident> incidents_;  // [finding]
  std::map<double, double> finding_of_;          // [action]
  std::set<double> restarts_;                    // actions
};

}  // namespace

std::vector<IncidentReporter::Incident> IncidentReporter::Look(double now_s,
                                                               std::span<const controller::WatchedFinding> findings,
                                                               const Json& steering) {
  const SteeringLog log(steering);
  std::vector<Incident> news;
  std::set<model::FindingId> seen;
  for (const controller::WatchedFinding& watched : findings) {
    const model::Finding& finding = watched.finding;
    seen.insert(finding.id);
    if (finding.confirmed == SimTime::Never()) continue;
    Known& known = known_[finding.id];
    if (known.is_over) continue;
    const SteeredIncident steered = log.Of(finding.id);
    const bool is_cleared = finding.cleared != SimTime::Never();
    const bool waits = steered.has_open_actions || (steered.restart_ended_s && !steered.runs_again);
    const bool is_patient = is_cleared && now_s < finding.cleared.seconds().value() + options_.patience_s;
    const bool looks_over = is_cleared && !(waits && is_patient);
    if (!looks_over) known.looks_over_since = -1;
    if (looks_over && known.looks_over_since < 0) known.looks_over_since = now_s;
    if (looks_over && now_s - known.looks_over_since >= options_.settle_s) {
      known.is_over = true;
      news.push_back({finding.id, true});
      continue;
    }
    // A line more than there are: the finding itself.
    if (known.num_lines == steered.num_lines + 1) continue;
    known.num_lines = steered.num_lines + 1;
    news.push_back({finding.id, false});
  }
  // Those that are not shown any more are not asked about again: numbers are never used twice.
  std::erase_if(known_, [&](const auto& known) { return !seen.contains(known.first); });
  return news;
}

}  // namespace fairlead::service
