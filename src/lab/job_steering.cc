#include "lab/job_steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/steady_seconds.h"

namespace fairlead::lab {

namespace {

constexpr int kDone = 0;
constexpr int kLater = 1;
constexpr int kNever = 2;

std::optional<uint32_t> NumberIn(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned() || found->get<uint64_t>() > 0xffff'fffe) return std::nullopt;
  return found->get<uint32_t>();
}

std::string TextIn(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Hosts of a fabric and of its lab have the same numbers.
std::vector<LabNodeId> HostsIn(const nlohmann::json& json) {
  std::vector<LabNodeId> hosts;
  const auto found = json.find("hosts");
  if (found == json.end() || !found->is_array()) return hosts;
  for (const nlohmann::json& host : *found) {
    if (host.is_number_unsigned()) hosts.emplace_back(host.get<uint32_t>());
  }
  return hosts;
}

}  // namespace

JobsAnswer JobSteering::Handle(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || TextIn(json, "step").empty()) return {kNever, "expected the JSON of an action", {}};
  SteeringDeed deed;
  deed.at_s = SteadySeconds();
  deed.step = TextIn(json, "step");
  if (const auto host = NumberIn(json, "host")) deed.host = LabNodeId(*host);
  const auto number = NumberIn(json, "job");
  if (const auto job = runner_->Find(TextIn(json, "job_name")); job && number) jobs_[*number] = *job;
  if (number && jobs_.contains(*number)) deed.job = jobs_.at(*number);
  deed.answer = Carry(deed.step, deed.job, deed.host, HostsIn(json));
  deeds_.push_back(deed);
  return deed.answer;
}

JobsAnswer JobSteering::Carry(const std::string& step, JobId job, LabNodeId host, const std::vector<LabNodeId>& hosts) {
  if (step == "isolate_host") {
    isolated_.insert(host);
    return {kDone, "nothing is placed there any more", {}};
  }
  if (step == "return_host") {
    isolated_.erase(host);
    return {kDone, "it may be used again", {}};
  }
  if (step == "test_host") {
    if (is_faulty_(host)) return {kLater, "it is being repaired", {}};
    return {kDone, "it has passed", true};
  }
  if (step == "take_spare") return {kDone, "it is free", {}};
  if (step != "stop_job" && step != "restart_job") return {kNever, fmt::format("there is no step '{}' here", step), {}};
  if (!job.valid()) return {kNever, "no such job runs in this lab", {}};
  if (step == "stop_job") {
    runner_->Stop(job);
    return {kDone, "its trainers have ended", {}};
  }
  const Status status = runner_->Restart(job, hosts);
  if (!status.ok()) return {status.code() == StatusCode::kInvalidArgument ? kNever : kLater, status.message(), {}};
  return {kDone, "its trainers have started", {}};
}

}  // namespace fairlead::lab
