#include "slurm/elastic_records.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/whole_number.h"
#include "codec/json_archive.h"
#include "slurm/stored_record.h"

namespace fairlead::slurm {

template <class Archive, codec::IsRecord<ElasticRecord::Size> Record>
void Describe(Archive& archive, Record& size) {
  archive.Required("num_gpus", size.num_gpus);
  archive.Required("iteration_s", size.iteration_s);
  archive.Required("measured_s", size.measured_s);
}

template <class Archive, codec::IsRecord<ElasticRecord> Record>
void Describe(Archive& archive, Record& record) {
  archive.Required("first_seen", record.first_seen);
  archive.Required("steps_done", record.steps_done);
  archive.Required("attained_service", record.attained_service);
  archive.Required("executed_s", record.executed_s);
  archive.Required("num_starts", record.num_starts);
  archive.Optional("restart_cost_s", record.restart_cost_s);
  archive.Optional("num_requeues", record.num_requeues);
  archive.Optional("speeds", record.speeds);
}

namespace {
constexpr std::string_view kElasticPrefix = "slurm/elastic/";
}  // namespace

std::string ElasticKey(uint32_t job) { return fmt::format("{}{}", kElasticPrefix, job); }

std::string ElasticText(const ElasticRecord& record) { return codec::ToJson(record).dump(); }

Result<ElasticRecord> ReadElasticText(const std::string& text) {
  FL_ASSIGN_OR_RETURN(const codec::Json json, codec::ParseJson(text, "the record"));
  ElasticRecord record;
  const std::string fault = codec::ReadValue(json, codec::UnknownKeys::kRefused, &record);
  if (!fault.empty()) return InvalidArgument(codec::WithoutJoint(fault));
  return record;
}

Result<std::vector<std::pair<uint32_t, ElasticRecord>>> ReadElasticRecords(const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const std::vector<store::Record> records, store.List(kElasticPrefix));
  std::vector<std::pair<uint32_t, ElasticRecord>> all;
  for (const store::Record& record : records) {
    const auto job = ParseWhole<uint32_t>(std::string_view(record.key).substr(kElasticPrefix.size()));
    if (!job.has_value()) return DamagedRecord(record, "its key has no number");
    Result<ElasticRecord> read = ReadElasticText(record.value);
    if (!read.ok()) return DamagedRecord(record, read.status().message());
    all.emplace_back(*job, *std::move(read));
  }
  return all;
}

}  // namespace fairlead::slurm
