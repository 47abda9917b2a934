#include "service/steering/action_json.h"

#include <nlohmann/json.hpp>

#include "base/overloaded.h"
#include "model/job_identity.h"

namespace fairlead::service {

namespace {

using controller::SteeringAction;
using controller::SteeringEvent;
using report::Json;

template <class IdType>
Json IdOrNull(IdType id) {
  return id.valid() ? Json(id.value()) : Json();
}

Json HostList(const std::vector<HostId>& hosts) {
  Json list = Json::array();
  for (const HostId host : hosts) list.push_back(host.value());
  return list;
}

// What a step adds to its action; the members that are named by all of them are there already.
void AddStep(const controller::SteeringStep& step, Json* json) {
  std::visit(Overloaded{
                 [&](const controller::IsolateHost& s) { (*json)["host"] = s.host.value(); },
                 [&](const controller::StopJob&) {},
                 [&](const controller::TakeSpare& s) {
                   (*json)["host"] = s.replaces.value();
                   (*json)["spare"] = s.spare.value();
                 },
                 [&](const controller::RestartJob& s) { (*json)["hosts"] = HostList(s.hosts); },
                 [&](const controller::TestHost& s) { (*json)["host"] = s.host.value(); },
                 [&](const controller::ReturnHost& s) { (*json)["host"] = s.host.value(); },
                 [&](const controller::Advise&) {},
                 [&](const controller::AskOperator& s) { (*json)["host"] = IdOrNull(s.host); },
                 [&](const controller::ExcuseJob& s) {
                   (*json)["until_s"] = s.until == SimTime::Never() ? Json() : Json(s.until.seconds().value());
                 },
             },
             step);
}

// By which name its owner knows it, and whose it is; null where the job has no key.
void AddJob(const std::string& key, Json* json) {
  const auto identity = model::ParseJobKey(key);
  const bool is_known = identity.has_value();
  (*json)["job_name"] = is_known ? Json(identity->name) : report::NameOrNull(key);
  (*json)["job_owner"] = is_known && identity->is_owner_verified ? Json(identity->owner) : Json();
  (*json)["slurm_job"] = is_known && identity->slurm_job != 0 ? Json(identity->slurm_job) : Json();
}

Json OutcomeToJson(const SteeringEvent& event) {
  return std::visit(Overloaded{
                        [](const controller::StepDone& e) -> Json {
                          return {{"outcome", "attempt"},
                                  {"action", e.action},
                                  {"attempt", e.attempt},
                                  {"succeeded", e.succeeded},
                                  {"message", e.message}};
                        },
                        [](const controller::HostTested& e) -> Json {
                          return {{"outcome", "host_tested"}, {"host", e.host.value()}, {"healthy", e.is_healthy}};
                        },
                        [](const controller::JobRunning& e) -> Json {
                          return {{"outcome", "job_running"}, {"job", e.job.value()}, {"hosts", HostList(e.hosts)}};
                        },
                        [](const controller::JobGone& e) -> Json {
                          return {{"outcome", "job_gone"}, {"job", e.job.value()}};
                        },
                        [](const controller::SpareOffered& e) -> Json {
                          return {{"outcome", "spare_offered"}, {"host", e.host.value()}};
                        },
                        [](const controller::IsolationUndone& e) -> Json {
                          return {{"outcome", "isolation_undone"}, {"host", e.host.value()}};
                        },
                        [](const controller::FindingReported& e) -> Json {
                          return {{"outcome", "finding"}, {"finding", e.finding.id.value()}};
                        },
                        [](const controller::PauseAnnounced& e) -> Json {
                          return {{"outcome", "pause"}, {"job", e.job.value()}, {"until_s", e.until.seconds().value()}};
                        },
                    },
                    event);
}

}  // namespace

Json ToJson(const SteeringAction& action) {
  Json evidence = Json::array();
  for (const model::Evidence& item : action.evidence) {
    evidence.push_back({{"what", item.what},
                        {"value", report::NumberOrNull(item.value)},
                        {"baseline", report::NumberOrNull(item.baseline)},
                        {"unit", item.unit}});
  }
  Json json = {{"action", action.number},
               {"attempt", action.attempt},
               {"step", controller::Name(action.step)},
               {"job", IdOrNull(action.job)},
               {"host", Json()},
               {"spare", Json()},
               {"hosts", Json()},
               {"until_s", Json()},
               {"finding", IdOrNull(action.finding)},
               {"confidence", action.finding.valid() ? report::NumberOrNull(action.confidence) : Json()},
               {"reason", action.reason},
               {"evidence", evidence},
               {"description", controller::Describe(action.step)}};
  AddStep(action.step, &json);
  return json;
}

void AddNames(const SteeringAction& action, const controller::SteeringNames& names, Json* json) {
  const auto host_name = [&](const Json& id) {
    return id.is_number() && names.host ? report::NameOrNull(names.host(HostId(id.get<uint32_t>()))) : Json();
  };
  AddJob(action.job.valid() && names.job ? names.job(action.job) : "", json);
  (*json)["host_name"] = host_name((*json)["host"]);
  (*json)["spare_name"] = host_name((*json)["spare"]);
  Json host_names;
  if ((*json)["hosts"].is_array()) {
    host_names = Json::array();
    for (const Json& host : (*json)["hosts"]) host_names.push_back(host_name(host));
  }
  (*json)["host_names"] = std::move(host_names);
  (*json)["description"] = controller::Describe(action.step, names);
}

Json ToJson(const controller::AuditEntry& entry) {
  const auto* action = std::get_if<SteeringAction>(&entry.what);
  Json json = {{"at_s", entry.at.seconds().value()}, {"kind", action != nullptr ? "action" : "outcome"}};
  json.update(action != nullptr ? ToJson(*action) : OutcomeToJson(std::get<SteeringEvent>(entry.what)));
  return json;
}

}  // namespace fairlead::service
