#include "sim/elastic/pollux_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/csv_reader.h"

namespace fairlead::sim {
namespace {

namespace fs = std::filesystem;

struct KnownApplication {
  std::string_view name;
  BatchLimits limits;
  uint32_t num_epochs;
  uint32_t max_gpus;  // 0 = limited by the batch
};

// applications.py of the benchmark.
constexpr KnownApplication kApplications[] = {
    {"bert", {12, 384, 4, 12}, 2, 0},          {"cifar10", {128, 4096, 32, 1024}, 100, 0},
    {"deepspeech2", {20, 640, 10, 80}, 80, 0}, {"imagenet", {200, 12800, 20, 200}, 90, 0},
    {"ncf", {256, 32768, 32, 32768}, 10, 1},   {"yolov3", {8, 512, 4, 8}, 50, 0},
};

template <class Number>
Result<Number> ParseField(const CsvReader& reader, size_t column, std::string_view what) {
  const std::string_view text = reader.field(column);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return InvalidArgument(fmt::format("{}: {} is '{}'; expected a number", reader.Where(), what, text));
}

// Reads a CSV of numbers: for each row calls `add` with the fields of `columns`, in that order.
template <class Add>
Status ReadNumbers(const std::string& path, const std::vector<std::string_view>& columns, Add add) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  std::vector<size_t> indices;
  for (const std::string_view column : columns) {
    FL_ASSIGN_OR_RETURN(const size_t index, reader.Column(column));
    indices.push_back(index);
  }
  std::vector<double> values(columns.size());
  while (reader.Next()) {
    for (size_t c = 0; c < columns.size(); ++c) {
      FL_ASSIGN_OR_RETURN(values[c], ParseField<double>(reader, indices[c], columns[c]));
    }
    add(values);
  }
  return reader.status();
}

// 24 -> {2, 4}.
GpusPerNode DigitsOf(double id) {
  const std::string digits = fmt::format("{:.0f}", id);
  GpusPerNode placement;
  for (const char digit : digits)
    placement.push_back(digit >= '0' && digit <= '9' ? static_cast<uint32_t>(digit - '0') : 0);
  return placement;
}

Result<uint32_t> BatchInName(const fs::path& path) {
  const std::string stem = path.stem().string();  // validation-<batch>
  const std::string_view digits = std::string_view(stem).substr(stem.find('-') + 1);
  uint32_t batch = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), batch);
  if (error == std::errc() && end == digits.data() + digits.size() && batch > 0) return batch;
  return InvalidArgument(fmt::format("{}: expected validation-<batch>.csv", path.string()));
}

Status ReadValidations(const std::string& folder, ProfileTables* tables) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with("validation-")) continue;
    FL_ASSIGN_OR_RETURN(const uint32_t batch, BatchInName(entry.path()));
    std::vector<EpochRow>& rows = tables->validations[batch];
    FL_RETURN_IF_ERROR(ReadNumbers(entry.path().string(), {"progress", "iteration", "grad_sqr", "grad_var"},
                                   [&](const std::vector<double>& v) {
                                     rows.push_back({v[0], v[1], v[2], v[3]});
                                   }));
  }
  if (!error) return OkStatus();
  return NotFound(fmt::format("{}: {}", folder, error.message()));
}

}  // namespace

Result<ApplicationProfile> LoadPolluxProfile(const std::string& folder) {
  const std::string name = fs::path(folder).filename().string();
  const auto* const known = std::ranges::find(kApplications, name, &KnownApplication::name);
  if (known == std::end(kApplications)) {
    return InvalidArgument(
        fmt::format("{}: '{}' is no application of the Pollux benchmark; expected bert, cifar10, deepspeech2, "
                    "imagenet, ncf or yolov3",
                    folder, name));
  }
  ProfileTables tables;
  tables.name = name;
  tables.limits = known->limits;
  tables.num_epochs = known->num_epochs;
  tables.max_gpus = known->max_gpus;
  FL_RETURN_IF_ERROR(ReadNumbers(folder + "/placements.csv", {"placement", "local_bsz", "step_time", "sync_time"},
                                 [&](const std::vector<double>& v) {
                                   tables.placements.push_back({DigitsOf(v[0]), v[1], {v[2], v[3]}});
                                 }));
  FL_RETURN_IF_ERROR(ReadNumbers(folder + "/scalability.csv",
                                 {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"},
                                 [&](const std::vector<double>& v) {
                                   tables.scalability.push_back({v[0], v[1], v[2], {v[3], v[4]}});
                                 }));
  FL_RETURN_IF_ERROR(ReadValidations(folder, &tables));
  return ApplicationProfile::Create(std::move(tables));
}

Result<ProfileSet> LoadPolluxProfiles(const std::string& traces_folder) {
  ProfileSet profiles;
  for (const KnownApplication& known : kApplications) {
    FL_ASSIGN_OR_RETURN(ApplicationProfile profile, LoadPolluxProfile(fmt::format("{}/{}", traces_folder, known.name)));
    profiles.emplace(known.name, std::move(profile));
  }
  return profiles;
}

Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, const ProfileSet& profiles) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t name, reader.Column("name"));
  FL_ASSIGN_OR_RETURN(const size_t time, reader.Column("time"));
  FL_ASSIGN_OR_RETURN(const size_t application, reader.Column("application"));
  FL_ASSIGN_OR_RETURN(const size_t replicas, reader.Column("num_replicas"));
  FL_ASSIGN_OR_RETURN(const size_t batch, reader.Column("batch_size"));
  std::vector<ElasticJobSpec> jobs;
  while (reader.Next()) {
    const auto profile = profiles.find(std::string(reader.field(application)));
    if (profile == profiles.end()) {
      return InvalidArgument(fmt::format("{}: unknown application '{}'", reader.Where(), reader.field(application)));
    }
    ElasticJobSpec job;
    job.name = reader.field(name);
    job.profile = &profile->second;
    FL_ASSIGN_OR_RETURN(job.submission_s, ParseField<double>(reader, time, "time"));
    FL_ASSIGN_OR_RETURN(job.requested_gpus, ParseField<uint32_t>(reader, replicas, "num_replicas"));
    FL_ASSIGN_OR_RETURN(job.global_batch, ParseField<uint32_t>(reader, batch, "batch_size"));
    jobs.push_back(std::move(job));
  }
  FL_RETURN_IF_ERROR(reader.status());
  FL_RETURN_IF_ERROR(ValidateWorkload(jobs));
  return jobs;
}

}  // namespace fairlead::sim
