#include "controller/steering_records.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "codec/json_archive.h"
#include "controller/steering_action_fields.h"
#include "model/finding_fields.h"

namespace fairlead::controller {

template <class Archive, codec::IsRecord<SteeringState::Cluster> Record>
void Describe(Archive& archive, Record& cluster) {
  Describe(archive, cluster.hosts);
  archive.Required("history", cluster.history);
  archive.Required("num_actions", cluster.num_actions);
}

template <class Archive, codec::IsRecord<SteeringState::Job> Record>
void Describe(Archive& archive, Record& record) {
  Describe(archive, record.job);
  archive.Required("sequence", record.sequence);
}

namespace {

constexpr char kClusterKey[] = "cluster";
constexpr std::string_view kJobKeyPrefix = "job/";
constexpr std::string_view kActionPrefix = "action/";

// Bytes of names that are no UTF-8 are replaced.
template <class Record>
std::string Text(const Record& record, const codec::HostNames& hosts) {
  return codec::ToJson(record, &hosts).dump(-1, ' ', false, codec::Json::error_handler_t::replace);
}

class Reader {
 public:
  explicit Reader(std::span<const std::string> host_names) : hosts_(host_names) {}

  // Returns what is wrong, empty if nothing is.
  std::string Read(std::string_view key, const std::string& value);
  std::pair<SteeringState, SteeringLosses> Take() {
    losses_.hosts = hosts_.lost();
    return {std::move(state_), std::move(losses_)};
  }

 private:
  template <class Record>
  std::string Fill(const codec::Json& json, Record* record) {
    hosts_.TakeLoss();
    return codec::WithoutJoint(codec::ReadValue(json, {codec::UnknownKeys::kIgnored, &hosts_}, record));
  }

  codec::HostNames hosts_;
  SteeringState state_;
  SteeringLosses losses_;
};

std::string Reader::Read(std::string_view key, const std::string& value) {
  const Result<codec::Json> json = codec::ParseJson(value, "the record");
  if (!json.ok()) return std::string(json.status().message());
  std::string fault;
  if (key == kClusterKey) {
    fault = Fill(*json, &state_.cluster);
  } else if (key.starts_with(kJobKeyPrefix)) {
    uint32_t number = 0;
    const char* end = key.data() + key.size();
    if (std::from_chars(key.data() + kJobKeyPrefix.size(), end, number).ptr != end) return "no such job";
    fault = Fill(*json, &state_.jobs[JobId(number)]);
    if (hosts_.TakeLoss()) losses_.jobs.push_back(JobId(number));
  } else if (key.starts_with(kActionPrefix)) {
    ActionAttempts::Open& open = state_.open.emplace_back();
    fault = Fill(*json, &open);
    if (hosts_.TakeLoss()) losses_.actions.push_back(open.action.number);
  }
  return fault;
}

}  // namespace

std::vector<std::string> SteeringLosses::Lines() const {
  std::vector<std::string> lines;
  for (const std::string& name : hosts) {
    lines.push_back(fmt::format("host {} is not in the fabric any more; its condition is forgotten", name));
  }
  for (const JobId job : jobs) {
    lines.push_back(fmt::format("job {} was on such a host; what was under way for it is forgotten", job.value()));
  }
  return lines;
}

SteeringRecords WriteSteeringRecords(const SteeringState& state, std::span<const std::string> host_names) {
  const codec::HostNames hosts(host_names);
  SteeringRecords records;
  for (const ActionAttempts::Open& open : state.open) {
    records.emplace_back(fmt::format("{}{}", kActionPrefix, open.action.number), Text(open, hosts));
  }
  records.emplace_back(kClusterKey, Text(state.cluster, hosts));
  for (const auto& [id, job] : state.jobs) {
    records.emplace_back(fmt::format("{}{}", kJobKeyPrefix, id.value()), Text(job, hosts));
  }
  return records;
}

Result<std::pair<SteeringState, SteeringLosses>> ReadSteeringRecords(
    std::span<const std::pair<std::string, std::string>> records, std::span<const std::string> host_names) {
  Reader reader(host_names);
  for (const auto& [key, value] : records) {
    if (const std::string fault = reader.Read(key, value); !fault.empty()) {
      return Status(StatusCode::kDataLoss, fmt::format("store: record {} of steering can't be read: {}", key, fault));
    }
  }
  return reader.Take();
}

}  // namespace fairlead::controller
