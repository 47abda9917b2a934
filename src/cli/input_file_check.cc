#include "cli/input_file_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file_reader.h"
#include "base/yaml_reader.h"
#include "collective/model_profile_yaml.h"
#include "report/number_format.h"
#include "sim/scenario.h"
#include "topology/address_book.h"
#include "topology/fabric_yaml.h"
#include "topology/lingjun_topology.h"
#include "trace/neutral_trace.h"
#include "trace/trace_profile.h"
#include "workload/workload_loader.h"

namespace fairlead::cli {

namespace {

using report::FormatCount;

constexpr size_t kMaxFileBytes = 1u << 30;

// By the keys that only one kind of file has.
Result<std::string> KindOfYaml(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  const YamlMap root = document.Root();
  const auto has_one = [&root](std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&root](std::string_view key) { return root.Has(key); });
  };
  if (has_one({"transformer", "convolution", "recommender"})) return std::string("model profile");
  if (has_one({"run_time_minutes", "first_day"})) return std::string("trace profile");
  if (root.Keys() == std::vector<std::string>{"fabric"}) return std::string("fabric");
  if (has_one({"jobs", "trace", "title", "fabric", "fabric_file", "policies"})) return std::string("scenario");
  return InvalidArgument(fmt::format(
      "{}: expected a scenario (title, fabric, jobs), a fabric (fabric), a model profile (transformer, convolution or "
      "recommender) or a trace profile (first_day); found the keys {}",
      path, fmt::join(root.Keys(), ", ")));
}

Result<std::string> KindOfCsv(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxFileBytes));
  const std::string_view header = std::string_view(text).substr(0, text.find('\n'));
  return std::string(header.find("ASW") != std::string_view::npos ? "topology" : "trace");
}

Result<std::string> KindOf(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    // A prefix of Chakra traces names no file.
    if (std::filesystem::exists(path + ".0.et")) return std::string("workload");
    return Status(StatusCode::kNotFound, fmt::format("{}: there is no such file", path));
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".yaml" || extension == ".yml") return KindOfYaml(path);
  if (extension == ".csv") return KindOfCsv(path);
  if (extension == ".json") return std::string("addresses");
  if (extension == ".txt" || extension == ".et" || std::filesystem::is_directory(path)) return std::string("workload");
  return InvalidArgument(fmt::format("{}: expected a file that ends in .yaml, .csv, .json, .txt or .et", path));
}

std::string Summarize(const topology::Fabric& fabric) {
  return fmt::format("{}, {}, {}", FormatCount(fabric.num_hosts(), "host"), FormatCount(fabric.num_gpus(), "GPU"),
                     FormatCount(fabric.num_links(), "link"));
}

std::string Summarize(const sim::Scenario& scenario) {
  uint64_t gpus = 0;
  for (const sim::ScenarioJob& entry : scenario.jobs) gpus += entry.job.num_gpus;
  return fmt::format("{} ({}) on {}; {} under {}", FormatCount(scenario.jobs.size(), "job"), FormatCount(gpus, "GPU"),
                     Summarize(scenario.fabric), FormatCount(scenario.num_seeds, "draw"),
                     fmt::join(scenario.policies, ", "));
}

}  // namespace

Result<std::string> InputFileChecker::CheckKind(const std::string& kind, const std::string& path) {
  if (kind == "scenario") {
    FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::LoadScenario(path, {}));
    std::string summary = Summarize(scenario);
    fabric_.emplace(std::move(scenario.fabric));
    return summary;
  }
  if (kind == "fabric" || kind == "topology") {
    FL_ASSIGN_OR_RETURN(topology::Fabric fabric,
                        kind == "fabric" ? topology::LoadFabricFile(path) : topology::LoadLingjunTopology(path));
    fabric_.emplace(std::move(fabric));
    return Summarize(*fabric_);
  }
  if (kind == "addresses") {
    if (!fabric_) {
      return InvalidArgument(
          fmt::format("{}: addresses are checked against a fabric; name its file before this one", path));
    }
    FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxFileBytes));
    FL_ASSIGN_OR_RETURN(const topology::AddressBook book, topology::ReadAddressBook(text, path, *fabric_));
    return fmt::format("addresses of {} and {}", FormatCount(book.nics().size(), "NIC"),
                       FormatCount(book.router_interfaces().size(), "router interface"));
  }
  if (kind == "model profile") {
    FL_ASSIGN_OR_RETURN(const collective::ModelProfile profile, collective::LoadModelProfileFile(path));
    return profile.name;
  }
  if (kind == "trace profile") {
    FL_ASSIGN_OR_RETURN(const trace::TraceProfile profile, trace::LoadTraceProfileFile(path));
    return profile.name;
  }
  if (kind == "trace") {
    FL_ASSIGN_OR_RETURN(const trace::Trace loaded, trace::LoadNeutralTrace(path));
    return FormatCount(loaded.jobs.size(), "job");
  }
  FL_ASSIGN_OR_RETURN(const collective::CollectiveSequence sequence,
                      workload::LoadWorkload(workload::GuessWorkloadKind(path), path,
                                             {.num_gpus = num_gpus_, .gpu_peak = {}, .memory_bandwidth = {}}));
  return sequence.num_gpus == 0 ? "for any number of GPUs" : FormatCount(sequence.num_gpus, "GPU");
}

InputFileCheck InputFileChecker::Check(const std::string& path) {
  InputFileCheck check;
  const Result<std::string> kind = KindOf(path);
  check.status = kind.status();
  if (!kind.ok()) return check;
  check.kind = *kind;
  const Result<std::string> summary = CheckKind(*kind, path);
  check.status = summary.status();
  if (summary.ok()) check.summary = *summary;
  return check;
}

}  // namespace fairlead::cli
