#include "controller/job_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/whole_number.h"

namespace fairlead::controller {
namespace {

constexpr std::string_view kJobPrefix = "job/";
constexpr std::string_view kNextJobKey = "next_job";

std::string KeyOfJob(JobId id) { return fmt::format("{}{}", kJobPrefix, id.value()); }

}  // namespace

JobTable::JobTable(size_t num_hosts, uint32_t num_levels, bool sets_levels, TrafficOutputs* outputs)
    : num_levels_(num_levels), sets_levels_(sets_levels), outputs_(outputs), jobs_at_(num_hosts) {}

Status JobTable::Restore(const std::string& key, const std::string& value) {
  if (key.starts_with(kJobPrefix)) return RestoreJob(key, value);
  if (key != kNextJobKey) return OkStatus();
  const auto number = ParseWhole<uint32_t>(value);
  if (!number) return DamagedRecord(key);
  next_job_ = std::max(next_job_, *number);
  return OkStatus();
}

Status JobTable::RestoreJob(const std::string& key, const std::string& value) {
  const auto number = ParseWhole<uint32_t>(std::string_view(key).substr(kJobPrefix.size()));
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!number || !JobId(*number).valid() || !json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("level") || !json["level"].is_number_unsigned()) {
    return DamagedRecord(key);
  }
  const JobId id(*number);
  const auto name = json["name"].get<std::string>();
  if (!ids_.emplace(name, id).second) return DamagedRecord(key);
  LiveJob& job = jobs_[id];
  job.name = name;
  job.level = sets_levels_ ? std::min(json["level"].get<uint32_t>(), last_level()) : last_level();
  job.reason = sets_levels_ ? "as before the controller's restart" : FirstReason();
  job.is_restored = true;
  next_job_ = std::max(next_job_, *number + 1);
  is_restoring_ = true;
  return OkStatus();
}

std::vector<JobId> JobTable::EndRestoring() {
  is_restoring_ = false;
  std::vector<JobId> known;
  for (const auto& [id, job] : jobs_) known.push_back(id);
  std::erase_if(known, [this](JobId id) { return !ForgetIfUnused(id); });
  return known;
}

std::optional<JobId> JobTable::Find(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<JobId> JobTable::Intern(const std::string& name) {
  if (const auto known = Find(name)) return known;
  const JobId id(next_job_);
  if (!id.valid()) return std::nullopt;
  ++next_job_;
  LiveJob& job = jobs_[id];
  job.name = name;
  job.level = last_level();
  job.reason = FirstReason();
  ids_.emplace(name, id);
  outputs_->Add(RecordChanged{std::string(kNextJobKey), std::to_string(next_job_)});
  Keep(id, job);
  return id;
}

std::string JobTable::FirstReason() const {
  return sets_levels_ ? "not measured yet: last level" : "the policy sets no levels";
}

void JobTable::Keep(JobId id, const LiveJob& job) {
  const nlohmann::json value = {{"name", job.name}, {"level", job.level}};
  outputs_->Add(RecordChanged{KeyOfJob(id), value.dump()});
}

const LiveJob* JobTable::Find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

const std::set<uint64_t>* JobTable::FindShare(JobId job, HostId host) const {
  const LiveJob* found = Find(job);
  if (found == nullptr) return nullptr;
  const auto share = found->shares.find(host);
  return share == found->shares.end() ? nullptr : &share->second;
}

const LiveConnection* JobTable::FindConnection(JobId job, HostId host, uint64_t connection) const {
  const LiveJob* of = Find(job);
  if (of == nullptr) return nullptr;
  const auto found = of->connections.find(connection);
  return found == of->connections.end() || found->second.host != host ? nullptr : &found->second;
}

void JobTable::AddConnection(JobId id, HostId host, const traffic::ConnectionRequest& request) {
  LiveJob& job = jobs_.at(id);
  const auto [place, is_new] = job.connections.try_emplace(request.connection);
  if (!is_new) return;
  place->second = {.host = host, .request = request, .socket_ports = {}};
  place->second.socket_ports.resize(request.num_queue_pairs);
  job.shares[host].insert(request.connection);
  jobs_at_[host].insert(id);
  ++num_changes_;
}

uint32_t JobTable::RemoveConnection(JobId id, HostId host, uint64_t connection) {
  const LiveConnection* held = FindConnection(id, host, connection);
  if (held == nullptr) return 0;
  const auto num_queue_pairs = static_cast<uint32_t>(held->socket_ports.size());
  LiveJob& job = jobs_.at(id);
  job.connections.erase(connection);
  const auto share = job.shares.find(host);
  share->second.erase(connection);
  if (share->second.empty()) {
    job.shares.erase(share);
    jobs_at_[host].erase(id);
  }
  ++num_changes_;
  return num_queue_pairs;
}

void JobTable::SetSocketPort(const QueuePairKey& key, uint16_t port) {
  jobs_.at(key.job).connections.at(key.connection).socket_ports[key.queue_pair] = port;
}

bool JobTable::ForgetIfUnused(JobId id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || !job->second.shares.empty() || job->second.num_questions > 0) return false;
  if (job->second.is_restored && is_restoring_) return false;
  ids_.erase(job->second.name);
  jobs_.erase(job);
  ++num_changes_;
  outputs_->Add(RecordChanged{KeyOfJob(id), std::nullopt});
  return true;
}

bool JobTable::SetLevel(JobId id, uint32_t level, const std::string& reason) {
  LiveJob& job = jobs_.at(id);
  job.reason = reason;
  level = std::min(level, last_level());
  if (level == job.level) return false;
  job.level = level;
  Keep(id, job);
  return true;
}

}  // namespace fairlead::controller
