#include "sim/elastic/pollux_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/csv_reader.h"
#include "base/parallel_for.h"
#include "base/whole_number.h"

namespace fairlead::sim {
namespace {

namespace fs = std::filesystem;

struct KnownApplication {
  std::string_view name;
  BatchLimits limits;
  uint32_t num_epochs;
  uint32_t max_gpus;  // 0 = limited by the batch
};

// applications.py of the benchmark. Others take what their tables have.
constexpr KnownApplication kApplications[] = {
    {"bert", {12, 384, 4, 12}, 2, 0},          {"cifar10", {128, 4096, 32, 1024}, 100, 0},
    {"deepspeech2", {20, 640, 10, 80}, 80, 0}, {"imagenet", {200, 12800, 20, 200}, 90, 0},
    {"ncf", {256, 32768, 32, 32768}, 10, 1},   {"yolov3", {8, 512, 4, 8}, 50, 0},
};

template <class Number>
Result<Number> ParseField(const CsvReader& reader, size_t column, std::string_view what) {
  const std::string_view text = reader.field(column);
  if (const std::optional<Number> value = ParseWhole<Number>(text)) return *value;
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
  if (const std::optional<uint32_t> batch = ParseWhole<uint32_t>(digits); batch.value_or(0) > 0) return *batch;
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

// "placements.csv", or "placements-rtx.csv" for one type of GPU.
std::string TableOf(const std::string& folder, std::string_view table, std::string_view gpu_type) {
  return gpu_type.empty() ? fmt::format("{}/{}.csv", folder, table)
                          : fmt::format("{}/{}-{}.csv", folder, table, gpu_type);
}

// Local batches that were measured on one type of GPU.
void SetLocalLimits(std::string_view gpu_type, ProfileTables* tables) {
  constexpr double kDeepspeech2OnRtx = 57;  // more does not fit there: a constant of Sia's simulator
  const auto [least, most] = std::ranges::minmax(tables->placements, {}, &PlacementRow::local_batch);
  const bool is_bounded = tables->name == "deepspeech2" && gpu_type == "rtx";
  const auto whole = [](double batch) { return static_cast<uint32_t>(std::clamp(batch, 1.0, 1e9)); };
  tables->limits.local_min = whole(least.local_batch);
  tables->limits.local_max = whole(is_bounded ? kDeepspeech2OnRtx : most.local_batch);
  tables->local_max_as_measured = true;
}

// Those of the benchmark where it has the application; else what was measured and validated.
Status SetLimits(const std::string& folder, ProfileTables* tables) {
  const auto* const known = std::ranges::find(kApplications, tables->name, &KnownApplication::name);
  if (known != std::end(kApplications)) {
    tables->limits = known->limits;
    tables->num_epochs = known->num_epochs;
    tables->max_gpus = known->max_gpus;
    return OkStatus();
  }
  if (tables->validations.empty() || tables->placements.empty()) {
    return InvalidArgument(
        fmt::format("{}: expected rows in placements.csv and a file validation-<batch>.csv for each batch", folder));
  }
  const auto [least, most] = std::ranges::minmax(tables->placements, {}, &PlacementRow::local_batch);
  const auto whole = [](double batch) { return static_cast<uint32_t>(std::clamp(batch, 1.0, 1e9)); };
  tables->limits = {tables->validations.begin()->first, tables->validations.rbegin()->first, whole(least.local_batch),
                    whole(most.local_batch)};
  size_t epochs = tables->validations.begin()->second.size();
  for (const auto& [batch, rows] : tables->validations) epochs = std::min(epochs, rows.size());
  tables->num_epochs = static_cast<uint32_t>(epochs);
  return OkStatus();
}

}  // namespace

Result<ApplicationProfile> LoadPolluxProfile(const std::string& folder, std::string_view gpu_type) {
  ProfileTables tables;
  tables.name = fs::path(folder).filename().string();
  FL_RETURN_IF_ERROR(ReadNumbers(TableOf(folder, "placements", gpu_type),
                                 {"placement", "local_bsz", "step_time", "sync_time"},
                                 [&](const std::vector<double>& v) {
                                   tables.placements.push_back({DigitsOf(v[0]), v[1], {v[2], v[3]}});
                                 }));
  FL_RETURN_IF_ERROR(ReadNumbers(TableOf(folder, "scalability", gpu_type),
                                 {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"},
                                 [&](const std::vector<double>& v) {
                                   tables.scalability.push_back({v[0], v[1], v[2], {v[3], v[4]}});
                                 }));
  FL_RETURN_IF_ERROR(ReadValidations(folder, &tables));
  FL_RETURN_IF_ERROR(SetLimits(folder, &tables));
  if (!gpu_type.empty() && !tables.placements.empty()) SetLocalLimits(gpu_type, &tables);
  return ApplicationProfile::Create(std::move(tables));
}

Result<std::set<std::string>> ListPolluxApplications(const std::string& path) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t application, reader.Column("application"));
  std::set<std::string> names;
  while (reader.Next()) names.emplace(reader.field(application));
  FL_RETURN_IF_ERROR(reader.status());
  return names;
}

Result<ProfileSet> LoadPolluxProfiles(const std::string& folder, std::string_view gpu_type,
                                      const std::set<std::string>& only) {
  const std::string root = fs::is_directory(folder + "/traces") ? folder + "/traces" : folder;
  std::error_code error;
  std::vector<std::string> applications;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (!only.empty() && !only.contains(entry.path().filename().string())) continue;
    if (fs::exists(TableOf(entry.path().string(), "placements", gpu_type)))
      applications.push_back(entry.path().string());
  }
  if (error || applications.empty()) {
    return NotFound(fmt::format("{}: {}; expected a folder for each application with {}", root,
                                error ? error.message() : "no profiles", TableOf("APP", "placements", gpu_type)));
  }
  std::ranges::sort(applications);
  // Together: triangulating one takes a hundredth of a second.
  std::vector<std::optional<Result<ApplicationProfile>>> loaded(applications.size());
  const std::atomic<bool> never = false;
  ParallelFor(applications.size(), 0, never,
              [&](size_t a) { loaded[a] = LoadPolluxProfile(applications[a], gpu_type); });
  ProfileSet profiles;
  for (auto& result : loaded) {
    FL_ASSIGN_OR_RETURN(ApplicationProfile profile, std::move(*result));
    std::string name = profile.name();
    profiles.emplace(std::move(name), std::move(profile));
  }
  return profiles;
}

namespace {

// [gpu type] the application's profiles, null where it has none.
std::vector<const ApplicationProfile*> FindProfiles(std::span<const ProfileSet> profiles, const std::string& name) {
  std::vector<const ApplicationProfile*> found;
  for (const ProfileSet& set : profiles) {
    const auto profile = set.find(name);
    found.push_back(profile == set.end() ? nullptr : &profile->second);
  }
  return found;
}

Status NoProfile(const CsvReader& reader, std::string_view application, std::span<const ProfileSet> profiles) {
  std::set<std::string> known;
  for (const ProfileSet& set : profiles) {
    for (const auto& [name, unused] : set) known.insert(name);
  }
  return InvalidArgument(fmt::format("{}: no profile of application '{}'; there are {}", reader.Where(), application,
                                     fmt::join(known, ", ")));
}

}  // namespace

Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, const ProfileSet& profiles) {
  return LoadPolluxWorkload(path, std::span(&profiles, 1));
}

Result<std::vector<ElasticJobSpec>> LoadPolluxWorkload(const std::string& path, std::span<const ProfileSet> profiles) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  FL_ASSIGN_OR_RETURN(const size_t name, reader.Column("name"));
  FL_ASSIGN_OR_RETURN(const size_t time, reader.Column("time"));
  FL_ASSIGN_OR_RETURN(const size_t application, reader.Column("application"));
  FL_ASSIGN_OR_RETURN(const size_t replicas, reader.Column("num_replicas"));
  FL_ASSIGN_OR_RETURN(const size_t batch, reader.Column("batch_size"));
  std::vector<ElasticJobSpec> jobs;
  while (reader.Next()) {
    const auto found = FindProfiles(profiles, std::string(reader.field(application)));
    const auto first = std::ranges::find_if(found, [](const auto* profile) { return profile != nullptr; });
    if (first == found.end()) return NoProfile(reader, reader.field(application), profiles);
    ElasticJobSpec job;
    job.name = reader.field(name);
    job.profile = *first;
    if (profiles.size() > 1) job.type_profiles = found;
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
