#include "slurm/intention_records.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "codec/json_archive.h"
#include "slurm/stored_record.h"

namespace fairlead::slurm {

template <class Archive, codec::IsRecord<DrainHost> Record>
void Describe(Archive& archive, Record& drain) {
  archive.Required("host", drain.host);
  archive.Required("reason", drain.reason);
}

template <class Archive, codec::IsRecord<ReturnHost> Record>
void Describe(Archive& archive, Record& back) {
  archive.Required("host", back.host);
}

template <class Archive, codec::IsRecord<PlaceJob> Record>
void Describe(Archive& archive, Record& place) {
  archive.Required("job", place.job);
  archive.Required("owner", place.owner);
  archive.Required("num_restarts", place.num_restarts);
  archive.Required("was_pending", place.was_pending);
  archive.Required("num_nodes", place.num_nodes);
  archive.Required("tasks_per_node", place.tasks_per_node);
  archive.Required("cpus_per_node", place.cpus_per_node);
  archive.Required("hosts", place.hosts);
  archive.Required("excluded_hosts", place.excluded_hosts);
  archive.Optional("reservation", place.reservation);
  archive.Optional("was_queued", place.was_queued);
  archive.Optional("num_nodes_max", place.num_nodes_max);
}

template <class Archive, codec::IsRecord<HoldJob> Record>
void Describe(Archive& archive, Record& hold) {
  archive.Required("job", hold.job);
  archive.Required("owner", hold.owner);
  archive.Required("num_restarts", hold.num_restarts);
}

template <class Archive, codec::IsRecord<RequeueJob> Record>
void Describe(Archive& archive, Record& requeue) {
  archive.Required("job", requeue.job);
  archive.Required("owner", requeue.owner);
  archive.Required("num_restarts", requeue.num_restarts);
  archive.Required("end", requeue.end);
}

template <class Archive, codec::IsRecord<StopJob> Record>
void Describe(Archive& archive, Record& stop) {
  archive.Required("job", stop.job);
  archive.Required("owner", stop.owner);
  archive.Required("num_restarts", stop.num_restarts);
  archive.Required("num_nodes", stop.num_nodes);
  archive.Required("tasks_per_node", stop.tasks_per_node);
  archive.Required("cpus_per_node", stop.cpus_per_node);
}

template <class Archive, codec::IsRecord<LeaveReservation> Record>
void Describe(Archive& archive, Record& leave) {
  archive.Required("name", leave.name);
  archive.Required("job", leave.job);
  archive.Required("owner", leave.owner);
}

template <class Archive, codec::IsRecord<SetNice> Record>
void Describe(Archive& archive, Record& order) {
  archive.Required("job", order.job);
  archive.Required("owner", order.owner);
  archive.Required("nice", order.nice);
}

template <class Archive, codec::IsRecord<SetComment> Record>
void Describe(Archive& archive, Record& order) {
  archive.Required("job", order.job);
  archive.Required("owner", order.owner);
  archive.Required("text", order.text);
}

template <class Archive, codec::IsRecord<SetReservation> Record>
void Describe(Archive& archive, Record& wish) {
  archive.Required("name", wish.name);
  archive.Required("hosts", wish.hosts);
  archive.Required("users", wish.users);
}

template <class Archive, codec::IsRecord<ReleasedJob> Record>
void Describe(Archive& archive, Record& released) {
  archive.Required("stop", released.stop);
  archive.Required("at", released.at);
}

namespace {

constexpr std::string_view kPrefix = "slurm/intention/";
constexpr std::string_view kStoppedPrefix = "slurm/stopped/";
constexpr std::string_view kReleasedPrefix = "slurm/released/";

struct IntentionRecord {
  Operation operation;
};

template <class Archive, codec::IsRecord<IntentionRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.template OneOf<DrainHost>("drain_host", record.operation);
  archive.template OneOf<ReturnHost>("return_host", record.operation);
  archive.template OneOf<PlaceJob>("place_job", record.operation);
  archive.template OneOf<StopJob>("stop_job", record.operation);
  archive.template OneOf<HoldJob>("hold_job", record.operation);
  archive.template OneOf<RequeueJob>("requeue_job", record.operation);
  archive.template OneOf<LeaveReservation>("leave_reservation", record.operation);
  archive.template OneOf<SetNice>("set_nice", record.operation);
  archive.template OneOf<SetComment>("set_comment", record.operation);
  archive.template OneOf<SetReservation>("set_reservation", record.operation);
}

}  // namespace

// With zeros, so that records are listed in their order.
std::string IntentionKey(uint64_t number) { return fmt::format("{}{:020}", kPrefix, number); }

std::string IntentionText(const Operation& operation) {
  return codec::ToJson(IntentionRecord{operation}).dump(-1, ' ', false, codec::Json::error_handler_t::replace);
}

std::string IsolatedKey(const std::string& host) { return "slurm/isolated/" + host; }

std::string ReturnedKey(const std::string& host) { return "slurm/returned/" + host; }

std::string ReleasedKey(uint32_t job) { return fmt::format("{}{}", kReleasedPrefix, job); }

std::string ReleasedText(const ReleasedJob& released) { return codec::ToJson(released).dump(); }

std::string StoppedKey(uint32_t job) { return fmt::format("{}{}", kStoppedPrefix, job); }

namespace {

Result<Operation> ReadOperation(const store::Record& record) {
  const auto json = codec::ParseJson(record.value, "the record");
  if (!json.ok()) return DamagedRecord(record, json.status().message());
  IntentionRecord intention;
  const std::string fault = codec::ReadValue(*json, codec::UnknownKeys::kRefused, &intention);
  if (!fault.empty()) return DamagedRecord(record, codec::WithoutJoint(fault));
  if (json->size() != 1) return DamagedRecord(record, "it has not exactly one operation");
  return std::move(intention.operation);
}

}  // namespace

Result<std::vector<std::pair<uint64_t, Operation>>> ReadIntentions(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store.List(kPrefix));
  std::vector<std::pair<uint64_t, Operation>> intentions;
  for (const store::Record& record : records) {
    uint64_t number = 0;
    const char* end = record.key.data() + record.key.size();
    const auto [stop, error] = std::from_chars(record.key.data() + kPrefix.size(), end, number);
    if (error != std::errc() || stop != end) return DamagedRecord(record, "its key has no number");
    FL_ASSIGN_OR_RETURN(Operation operation, ReadOperation(record));
    intentions.emplace_back(number, std::move(operation));
  }
  return intentions;
}

Result<std::vector<StopJob>> ReadStopped(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store.List(kStoppedPrefix));
  std::vector<StopJob> stopped;
  for (const store::Record& record : records) {
    FL_ASSIGN_OR_RETURN(const Operation operation, ReadOperation(record));
    const auto* stop = std::get_if<StopJob>(&operation);
    if (stop == nullptr || record.key != StoppedKey(stop->job))
      return DamagedRecord(record, "it is no stop of that job");
    stopped.push_back(*stop);
  }
  return stopped;
}

Result<std::vector<ReleasedJob>> ReadReleased(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store.List(kReleasedPrefix));
  std::vector<ReleasedJob> all;
  for (const store::Record& record : records) {
    FL_ASSIGN_OR_RETURN(ReleasedJob released, ReadStored<ReleasedJob>(record));
    all.push_back(std::move(released));
  }
  return all;
}

}  // namespace fairlead::slurm
