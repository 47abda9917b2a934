#include "sim/elastic/workload_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/csv_reader.h"
#include "sim/elastic/elasticflow_workload.h"
#include "sim/elastic/gavel_speeds.h"
#include "sim/elastic/helios_workload.h"
#include "sim/elastic/neutral_workload.h"
#include "sim/elastic/philly_workload.h"
#include "sim/elastic/pollux_profile.h"

namespace fairlead::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kNames = {"pollux",  "elasticflow", "gavel", "tiresias",
                                                    "neutral", "helios",      "philly"};

// Columns that only files of the layout have all of.
struct LayoutColumns {
  WorkloadLayout layout;
  std::vector<std::string_view> columns;
};

const std::vector<LayoutColumns>& ColumnsOfLayouts() {
  static const std::vector<LayoutColumns> kColumns = {
      {WorkloadLayout::kPollux, {"name", "time", "application", "num_replicas", "batch_size"}},
      {WorkloadLayout::kElasticflow, {"job_id", "submit_time", "model_name", "batch_size", "num_gpu", "iteration"}},
      {WorkloadLayout::kTiresias, {"job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration"}},
      {WorkloadLayout::kNeutral, {"job", "submit", "gpus"}},
      {WorkloadLayout::kHelios, {"job_id", "user", "gpu_num", "submit_time", "duration"}},
  };
  return kColumns;
}

// Seven or ten fields with tabs, no header.
bool LooksLikeGavel(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto tabs = std::ranges::count(line, '\t');
  return tabs == 6 || tabs == 9;
}

Result<WorkloadLayout> GuessLayout(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return NotFound(fmt::format("{}: no such file", path));
  if (fs::is_directory(path, error)) return InvalidArgument(fmt::format("{}: a folder; expected a file", path));
  if (LooksLikeGavel(path)) return WorkloadLayout::kGavel;
  if (LooksLikePhilly(path)) return WorkloadLayout::kPhilly;
  FL_ASSIGN_OR_RETURN(const CsvReader reader, CsvReader::Open(path));
  std::string known;
  for (const LayoutColumns& layout : ColumnsOfLayouts()) {
    if (std::ranges::all_of(layout.columns, [&](std::string_view column) { return reader.HasColumn(column); })) {
      return layout.layout;
    }
    known += fmt::format("{}{} has {}", known.empty() ? "" : "; ", Name(layout.layout), fmt::join(layout.columns, ","));
  }
  return InvalidArgument(fmt::format("{}:1: the columns are of no workload that we know: {}", path, known));
}

// What the user gave, or `name` in the first of these folders that has it.
Result<std::string> FindProfiles(const WorkloadFileOptions& options, const std::vector<fs::path>& folders,
                                 std::string_view name, WorkloadLayout layout) {
  std::error_code error;
  if (!options.profiles.empty()) {
    if (fs::exists(options.profiles, error)) return options.profiles;
    return NotFound(fmt::format("--profiles {}: no such file or folder", options.profiles));
  }
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, error)) return (folder / name).string();
  }
  return InvalidArgument(fmt::format("a workload of layout {} needs --profiles: no {} beside it", Name(layout), name));
}

Result<std::string> GavelTable(const std::string& given) {
  std::error_code error;
  return fs::is_directory(given, error) ? given + "/simulation_throughputs.json" : given;
}

void KeepFirst(size_t most_jobs, std::vector<ElasticJobSpec>* jobs) {
  if (jobs->size() > most_jobs) jobs->resize(most_jobs);
}

}  // namespace

std::span<const std::string_view> WorkloadLayoutNames() { return kNames; }

std::string_view Name(WorkloadLayout layout) { return kNames[static_cast<size_t>(layout)]; }

Result<WorkloadFile> LoadWorkloadFile(const std::string& path, const WorkloadFileOptions& options) {
  WorkloadFile file;
  FL_ASSIGN_OR_RETURN(const WorkloadLayout guessed, GuessLayout(path));
  file.layout = options.layout.value_or(guessed);
  if (options.gpu_types.size() > 1 && file.layout != WorkloadLayout::kPollux) {
    return InvalidArgument(
        fmt::format("{}: a workload of layout {} has speeds on one type of GPU; the cluster has {}: {}", path,
                    Name(file.layout), options.gpu_types.size(), fmt::join(options.gpu_types, ", ")));
  }
  const fs::path folder = fs::absolute(path).parent_path();
  switch (file.layout) {
    case WorkloadLayout::kPollux: {
      FL_ASSIGN_OR_RETURN(const std::string profiles,
                          FindProfiles(options, {folder, folder.parent_path()}, "traces", file.layout));
      FL_ASSIGN_OR_RETURN(const auto applications, ListPolluxApplications(path));
      std::vector<ProfileSet> loaded;
      for (const std::string& type : options.gpu_types.empty() ? std::vector<std::string>{""} : options.gpu_types) {
        FL_ASSIGN_OR_RETURN(loaded.emplace_back(), LoadPolluxProfiles(profiles, type, applications));
      }
      file.shared_profiles = std::make_unique<const std::vector<ProfileSet>>(std::move(loaded));
      FL_ASSIGN_OR_RETURN(file.own.jobs, LoadPolluxWorkload(path, std::span(*file.shared_profiles)));
      break;
    }
    case WorkloadLayout::kElasticflow: {
      FL_ASSIGN_OR_RETURN(const std::string profiles,
                          FindProfiles(options, {folder, folder.parent_path()}, "throughputs_A100", file.layout));
      FL_ASSIGN_OR_RETURN(const auto speeds, LoadElasticflowSpeeds(profiles));
      FL_ASSIGN_OR_RETURN(file.own, LoadElasticflowWorkload(path, speeds, options.most_jobs));
      break;
    }
    case WorkloadLayout::kGavel: {
      FL_ASSIGN_OR_RETURN(const std::string given,
                          FindProfiles(options, {folder}, "simulation_throughputs.json", file.layout));
      FL_ASSIGN_OR_RETURN(const std::string table, GavelTable(given));
      FL_ASSIGN_OR_RETURN(const GpuTypeSpeeds speeds, LoadGavelSpeeds(table));
      FL_ASSIGN_OR_RETURN(
          file.own, LoadGavelWorkload(path, speeds, options.gpu_types.empty() ? "v100" : options.gpu_types.front()));
      break;
    }
    case WorkloadLayout::kTiresias: {
      FL_ASSIGN_OR_RETURN(file.own, LoadTiresiasWorkload(path));
      break;
    }
    case WorkloadLayout::kHelios: {
      FL_ASSIGN_OR_RETURN(file.own, LoadHeliosWorkload(path));
      break;
    }
    case WorkloadLayout::kPhilly: {
      FL_ASSIGN_OR_RETURN(file.own, LoadPhillyWorkload(path));
      break;
    }
    case WorkloadLayout::kNeutral: {
      FL_ASSIGN_OR_RETURN(file.own, LoadNeutralWorkload(path));
      break;
    }
  }
  KeepFirst(options.most_jobs, &file.own.jobs);
  if (file.own.jobs.empty()) return InvalidArgument(fmt::format("{}: no job in it", path));
  return file;
}

}  // namespace fairlead::sim
