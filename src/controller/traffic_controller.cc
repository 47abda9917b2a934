#include "controller/traffic_controller.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/whole_number.h"

namespace fairlead::controller {
namespace {

// Ticks come each second; a step that is longer was a pause of our own.
constexpr SimDuration kClockStepMax(2'000'000'000);
constexpr std::string_view kJobPrefix = "job/";
constexpr std::string_view kNextJobKey = "next_job";
constexpr std::string_view kLinkPrefix = "link/";

Status DamagedRecord(const std::string& key) {
  return {StatusCode::kDataLoss, fmt::format("record '{}': can't be read; restore the last good state", key)};
}

Status OutOfRange(std::string_view option, std::string_view expected, const std::string& found) {
  return InvalidArgument(fmt::format("controller: {}: expected {}, found {}", option, expected, found));
}

}  // namespace

Status TrafficControllerOptions::Validate() const {
  const std::pair<std::string_view, SimDuration> durations[] = {{"heartbeat_period", heartbeat_period},
                                                                {"lease_ttl", lease_ttl},
                                                                {"level_period", level_period},
                                                                {"arrival_timeout", arrival_timeout},
                                                                {"probe_timeout", probe_timeout}};
  for (const auto& [name, value] : durations) {
    if (value <= SimDuration(0)) return OutOfRange(name, "> 0", fmt::format("{} ns", value.ns()));
  }
  if (num_levels < 1 || num_levels > 8) return OutOfRange("num_levels", "1 to 8", std::to_string(num_levels));
  if (!(measurement_weight > 0 && measurement_weight <= 1)) {
    return OutOfRange("measurement_weight", "(0, 1]", fmt::format("{}", measurement_weight));
  }
  if (!(order_error_probability > 0 && order_error_probability <= 0.5)) {
    return OutOfRange("order_error_probability", "(0, 0.5]", fmt::format("{}", order_error_probability));
  }
  if (probe_protocol != 6 && probe_protocol != 17) {
    return OutOfRange("probe_protocol", "6 or 17", std::to_string(probe_protocol));
  }
  if (probe_destination_port == 0) return OutOfRange("probe_destination_port", "1 to 65535", "0");
  return OkStatus();
}

TrafficController::TrafficController(const topology::Fabric& fabric, const topology::AddressBook& addresses,
                                     traffic::PathService& paths, const traffic::TrafficPolicy& levels,
                                     TrafficControllerOptions options)
    : fabric_(fabric),
      addresses_(addresses),
      paths_(paths),
      policy_(levels),
      options_(std::move(options)),
      router_(fabric),
      health_(fabric.num_links(), 1.0),
      time_(kClockStepMax),
      hosts_(fabric.num_hosts()) {
  FL_CHECK(options_.Validate().ok());
}

Status TrafficController::Restore(std::span<const std::pair<std::string, std::string>> records) {
  for (const auto& [key, value] : records) {
    if (key == kNextJobKey) {
      const auto number = ParseWhole<uint32_t>(value);
      if (!number) return DamagedRecord(key);
      next_job_ = std::max(next_job_, *number);
      continue;
    }
    if (key.starts_with(kJobPrefix)) FL_RETURN_IF_ERROR(RestoreJob(key, value));
    if (key.starts_with(kLinkPrefix)) FL_RETURN_IF_ERROR(RestoreReport(key, value));
  }
  return OkStatus();
}

Status TrafficController::RestoreJob(const std::string& key, const std::string& value) {
  const auto number = ParseWhole<uint32_t>(std::string_view(key).substr(kJobPrefix.size()));
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!number || !JobId(*number).valid() || !json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("level") || !json["level"].is_number_unsigned()) {
    return DamagedRecord(key);
  }
  const JobId id(*number);
  const auto name = json["name"].get<std::string>();
  if (!job_ids_.emplace(name, id).second) return DamagedRecord(key);
  Job& job = jobs_[id];
  job.name = name;
  const uint32_t last_level = options_.num_levels - 1;
  job.level = options_.sets_levels ? std::min(json["level"].get<uint32_t>(), last_level) : last_level;
  job.reason = options_.sets_levels ? "as before the controller's restart" : FirstReason();
  job.is_restored = true;
  next_job_ = std::max(next_job_, *number + 1);
  has_restored_ = true;
  return OkStatus();
}

// The path service learns of it with the first call.
Status TrafficController::RestoreReport(const std::string& key, const std::string& value) {
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
    Note(Noted::Severity::kWarning, "link " + name, "was reported before; the fabric has no such link any more");
    outputs_.emplace_back(RecordChanged{key, std::nullopt});
    return OkStatus();
  }
  reported_[link] = health;
  Pass(traffic::LinkReported{.link = link, .health = health, .source = json["source"].get<std::string>()});
  return OkStatus();
}

void TrafficController::KeepReport(const LinkHealthReported& report) {
  const auto kept = reported_.find(report.link);
  const double before = kept == reported_.end() ? 1 : kept->second;
  if (report.health == before) return;
  const std::string key = fmt::format("{}{}", kLinkPrefix, fabric_.LinkName(report.link));
  if (report.health == 1) {
    reported_.erase(kept);
    outputs_.emplace_back(RecordChanged{key, std::nullopt});
    return;
  }
  reported_[report.link] = report.health;
  const nlohmann::json value = {{"health", report.health}, {"source", report.source}};
  // Who says so is any text.
  outputs_.emplace_back(RecordChanged{key, value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

void TrafficController::KeepRecord(JobId id, const Job& job) {
  const nlohmann::json value = {{"name", job.name}, {"level", job.level}};
  outputs_.emplace_back(RecordChanged{fmt::format("{}{}", kJobPrefix, id.value()), value.dump()});
}

std::optional<JobId> TrafficController::Intern(const std::string& name) {
  if (const auto known = FindJob(name)) return known;
  const JobId id(next_job_);
  if (!id.valid()) return std::nullopt;
  ++next_job_;
  Job& job = jobs_[id];
  job.name = name;
  job.level = options_.num_levels - 1;
  job.reason = FirstReason();
  job_ids_.emplace(name, id);
  outputs_.emplace_back(RecordChanged{std::string(kNextJobKey), std::to_string(next_job_)});
  KeepRecord(id, job);
  return id;
}

std::string TrafficController::FirstReason() const {
  return options_.sets_levels ? "not measured yet: last level" : "the policy sets no levels";
}

void TrafficController::ForgetIfUnused(JobId id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end() || !job->second.shares.empty() || job->second.num_pending > 0) return;
  if (job->second.is_restored && has_restored_) return;
  job_ids_.erase(job->second.name);
  jobs_.erase(job);
  are_levels_stale_ = true;
  outputs_.emplace_back(RecordChanged{fmt::format("{}{}", kJobPrefix, id.value()), std::nullopt});
}

std::vector<TrafficOutput> TrafficController::Handle(SimTime clock, std::span<const TrafficInput> inputs) {
  clock_ = clock;
  time_.Advance(clock);
  for (const TrafficInput& input : inputs) {
    std::visit([this](const auto& one) { Take(one); }, input);
  }
  FinishRounds();
  Flush();
  EndOverdueMoves();
  RetryMoves();
  if (has_restored_ && time_.now() >= SimTime() + options_.lease_ttl) {
    has_restored_ = false;
    std::vector<JobId> restored;
    for (const auto& [id, job] : jobs_) restored.push_back(id);
    for (const JobId id : restored) ForgetIfUnused(id);
  }
  PlanLevels();
  return std::exchange(outputs_, {});
}

void TrafficController::Take(const StreamMessage& input) {
  const Stream stream = streams_[input.stream];
  if (stream.is_closed) return;
  const auto* hello = std::get_if<HostHello>(&input.message);
  if (!stream.host.valid()) {
    if (hello != nullptr) return Welcome(input.stream, *hello);
    return Refuse(input.stream, "the first message on a stream must be a hello; is this a Fairlead agent?");
  }
  hosts_[stream.host].last_message = clock_;
  // Requests to the path service alone are passed on together; everything else needs the results of earlier messages of
  // the same host. Hosts say such things all the time, and a flush for each of them would be a batch for each.
  const bool is_passed_on = std::holds_alternative<PathsWanted>(input.message) ||
                            std::holds_alternative<Heartbeat>(input.message) ||
                            std::holds_alternative<ProbesFinished>(input.message);
  if (!is_passed_on && IsWaiting(stream.host)) Flush();
  std::visit([&](const auto& message) { Hear(stream.host, message); }, input.message);
}

void TrafficController::Take(const StreamEnded& input) {
  const auto stream = streams_.find(input.stream);
  if (stream == streams_.end()) return;
  const HostId host = stream->second.host;
  if (host.valid() && IsWaiting(host)) Flush();
  if (host.valid() && hosts_[host].stream == input.stream) {
    hosts_[host].stream.reset();
    LoseArrivals(host);
    Note(Noted::Severity::kWarning, HostSubject(host), "its agent is away; what it holds is kept for the lease's term");
  }
  streams_.erase(stream);
}

void TrafficController::Take(const LinkHealthReported& input) {
  if (input.link.index() >= fabric_.num_links()) {
    return Note(Noted::Severity::kWarning, "links",
                fmt::format("report of link {}: the fabric has {} links", input.link.value(), fabric_.num_links()));
  }
  if (input.health >= 0 && input.health <= 1) KeepReport(input);
  Pass(traffic::LinkReported{.link = input.link, .health = input.health, .source = input.source});
}

void TrafficController::PassOn(HostId host, traffic::PathEvent event) {
  hosts_[host].passed_on_in = num_flushes_ + 1;
  Pass(std::move(event));
}

void TrafficController::Flush() {
  ++num_flushes_;
  std::vector<traffic::PathEvent> events = std::exchange(releases_, {});
  const size_t num_releases = events.size();
  std::move(events_.begin(), events_.end(), std::back_inserter(events));
  events_.clear();
  std::move(opened_.begin(), opened_.end(), std::back_inserter(events));
  opened_.clear();
  std::vector<JobId> asking;
  asking.reserve(requests_.size());
  for (const auto& [number, request] : requests_) {
    asking.push_back(request.job);
    jobs_.at(request.job).num_pending = 0;
  }
  std::vector<traffic::PathAction> actions = paths_.Handle(clock_, events);
  KeepProbes(std::span(events).subspan(num_releases));
  for (traffic::PathAction& action : actions) {
    std::visit([this](auto& one) { Carry(one); }, action);
  }
  // A connection that was refused everything has no path. Requests that were rejected as a whole have no answer.
  for (const JobId job : asking) ForgetIfUnused(job);
  requests_.clear();
}

void TrafficController::Carry(const traffic::LeaseExpired& action) {
  const auto job = jobs_.find(action.lease.job);
  if (job == jobs_.end()) return;
  Note(Noted::Severity::kWarning, HostSubject(action.lease.host),
       fmt::format("silent for too long: {} queue pairs of job {} are given up", action.num_queue_pairs,
                   job->second.name));
  // The connections may live on under an agent that is away, with packets that have to be rewritten at their destination.
  // Its agent does that for as long as it sees the socket.
  RemoveShare(action.lease.job, action.lease.host, Arrivals::kLeft);
  // A host that is only late still holds them. Its heartbeats need not show it: they count leases, not connections.
  AskForAnnouncement(action.lease.host);
}

void TrafficController::Carry(const traffic::AnnouncementWanted& action) { AskForAnnouncement(action.host); }

void TrafficController::Carry(const traffic::LinkStateChanged& action) {
  if (health_[action.link] != action.health) is_router_stale_ = true;
  health_[action.link] = action.health;
  are_levels_stale_ = true;
  const bool is_good = action.to == traffic::LinkState::kUp;
  Note(is_good ? Noted::Severity::kInfo : Noted::Severity::kWarning, "link " + fabric_.LinkName(action.link),
       fmt::format("{} -> {}, {:.4g} % of its capacity: {}", Name(action.from), Name(action.to), 100 * action.health,
                   action.reason));
}

void TrafficController::Carry(const traffic::EventRejected& action) {
  Note(Noted::Severity::kWarning, "paths", action.reason);
}

void TrafficController::Note(Noted::Severity severity, std::string subject, std::string text) {
  outputs_.emplace_back(Noted{severity, std::move(subject), std::move(text)});
}

void TrafficController::Object(HostId host, std::string text) {
  Note(Noted::Severity::kWarning, HostSubject(host), std::move(text));
}

}  // namespace fairlead::controller
