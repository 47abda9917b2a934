#include "slurm/intention_records.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "codec/json_archive.h"

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
}

template <class Archive, codec::IsRecord<SetNice> Record>
void Describe(Archive& archive, Record& order) {
  archive.Required("job", order.job);
  archive.Required("owner", order.owner);
  archive.Required("nice", order.nice);
}

template <class Archive, codec::IsRecord<SetReservation> Record>
void Describe(Archive& archive, Record& wish) {
  archive.Required("name", wish.name);
  archive.Required("hosts", wish.hosts);
  archive.Required("users", wish.users);
}

namespace {

constexpr std::string_view kPrefix = "slurm/intention/";

struct IntentionRecord {
  Operation operation;
};

template <class Archive, codec::IsRecord<IntentionRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.template OneOf<DrainHost>("drain_host", record.operation);
  archive.template OneOf<ReturnHost>("return_host", record.operation);
  archive.template OneOf<PlaceJob>("place_job", record.operation);
  archive.template OneOf<SetNice>("set_nice", record.operation);
  archive.template OneOf<SetReservation>("set_reservation", record.operation);
}

}  // namespace

// With zeros, so that records are listed in their order.
std::string IntentionKey(uint64_t number) { return fmt::format("{}{:020}", kPrefix, number); }

std::string IntentionText(const Operation& operation) {
  return codec::ToJson(IntentionRecord{operation}).dump(-1, ' ', false, codec::Json::error_handler_t::replace);
}

Result<std::vector<std::pair<uint64_t, Operation>>> ReadIntentions(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store.List(kPrefix));
  std::vector<std::pair<uint64_t, Operation>> intentions;
  for (const store::Record& record : records) {
    const auto damaged = [&record](const std::string& what) {
      return Status(StatusCode::kDataLoss, fmt::format("store: record {} can't be read: {}", record.key, what));
    };
    uint64_t number = 0;
    const char* end = record.key.data() + record.key.size();
    const auto [stop, error] = std::from_chars(record.key.data() + kPrefix.size(), end, number);
    if (error != std::errc() || stop != end) return damaged("its key has no number");
    const auto json = codec::ParseJson(record.value, "the record");
    if (!json.ok()) return damaged(json.status().message());
    IntentionRecord intention;
    const std::string fault = codec::ReadValue(*json, codec::UnknownKeys::kRefused, &intention);
    if (!fault.empty()) return damaged(codec::WithoutJoint(fault));
    if (json->size() != 1) return damaged("it has not exactly one operation");
    intentions.emplace_back(number, std::move(intention.operation));
  }
  return intentions;
}

}  // namespace fairlead::slurm
