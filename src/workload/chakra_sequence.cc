#include "workload/chakra_sequence.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_reader.h"
#include "base/whole_number.h"
#include "workload/chakra_merge.h"
#include "workload/chakra_single_trace.h"

namespace fairlead::workload {
namespace {

namespace fs = std::filesystem;

using collective::CollectiveSequence;
using Ranks = std::vector<uint32_t>;

constexpr uint32_t kMaxRanks = 1u << 17;

// "a/gpt.12.et" -> "a/gpt", 12.
std::optional<std::pair<std::string, uint32_t>> SplitTraceName(const std::string& path) {
  if (!path.ends_with(".et")) return std::nullopt;
  const std::string_view stem = std::string_view(path).substr(0, path.size() - 3);
  const size_t dot = stem.rfind('.');
  if (dot == stem.npos) return std::nullopt;
  const std::optional<uint32_t> rank = ParseWhole<uint32_t>(stem.substr(dot + 1));
  if (!rank || *rank >= kMaxRanks) return std::nullopt;
  return std::pair(std::string(stem.substr(0, dot)), *rank);
}

// The traces to read, [rank], and what their names have in common.
struct TraceFiles {
  std::string prefix;
  std::vector<std::string> paths;
  uint32_t first_rank = 0;  // of a single trace
};

// Every PREFIX.N.et of a folder, by prefix.
std::map<std::string, std::map<uint32_t, std::string>> ListTraces(const fs::path& folder) {
  std::map<std::string, std::map<uint32_t, std::string>> traces;
  std::error_code error;
  for (fs::directory_iterator it(folder.empty() ? fs::path(".") : folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = (folder / it->path().filename()).string();
    if (const auto name = SplitTraceName(path)) traces[name->first][name->second] = path;
  }
  return traces;
}

Result<TraceFiles> FilesOfPrefix(const std::string& prefix, const std::map<uint32_t, std::string>& by_rank) {
  TraceFiles files{.prefix = prefix, .paths = {}};
  for (const auto& [rank, path] : by_rank) {
    if (rank != files.paths.size()) {
      return NotFound(fmt::format("{}.{}.et: there is no such trace, but one of rank {}; expected all ranks from 0 on",
                                  prefix, files.paths.size(), rank));
    }
    files.paths.push_back(path);
  }
  return files;
}

Result<TraceFiles> FindTraces(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) {
    const auto name = SplitTraceName(path);
    if (name) return TraceFiles{name->first, {path}, name->second};
    return TraceFiles{path.ends_with(".et") ? path.substr(0, path.size() - 3) : path, {path}, 0};
  }
  if (fs::is_directory(path, error)) {
    const auto traces = ListTraces(path);
    if (traces.size() == 1) return FilesOfPrefix(traces.begin()->first, traces.begin()->second);
    return InvalidArgument(fmt::format(
        "{}: expected the traces of one job, PREFIX.0.et, PREFIX.1.et, …; found {} prefixes", path, traces.size()));
  }
  const auto traces = ListTraces(fs::path(path).parent_path());
  const auto found = traces.find(path);
  if (found != traces.end()) return FilesOfPrefix(path, found->second);
  return NotFound(
      fmt::format("{}: there is no such file or folder, and no {}.0.et; expected Chakra traces", path, path));
}

Result<std::map<std::string, Ranks>> LoadGroups(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() == StatusCode::kNotFound) return std::map<std::string, Ranks>();
  if (!text.ok()) return text.status();
  return ParseChakraGroups(*text, path);
}

Result<ChakraTrace> LoadTrace(const std::string& path, uint32_t rank, const std::map<std::string, Ranks>& groups,
                              const ChakraOptions& options) {
  std::ifstream input(path, std::ios::binary);
  if (!input) return NotFound(fmt::format("{}: cannot read this file; expected a Chakra trace", path));
  FL_ASSIGN_OR_RETURN(ChakraTrace trace, ReadChakraTrace(input, path, rank, options));
  trace.groups.insert(groups.begin(), groups.end());  // what the trace says itself comes first
  return trace;
}

}  // namespace

Result<CollectiveSequence> LoadChakraWorkload(const std::string& path, const ChakraOptions& options) {
  FL_ASSIGN_OR_RETURN(const TraceFiles files, FindTraces(path));
  FL_ASSIGN_OR_RETURN(const auto groups, LoadGroups(files.prefix + ".json"));
  if (files.paths.size() == 1) {
    FL_ASSIGN_OR_RETURN(const ChakraTrace trace, LoadTrace(files.paths[0], files.first_rank, groups, options));
    return SequenceOfOneTrace(trace, options);
  }
  ChakraTraceMerger merger(files.prefix, static_cast<uint32_t>(files.paths.size()));
  for (uint32_t rank = 0; rank < files.paths.size(); ++rank) {
    FL_ASSIGN_OR_RETURN(const ChakraTrace trace, LoadTrace(files.paths[rank], rank, groups, options));
    FL_RETURN_IF_ERROR(merger.Add(trace));
  }
  return std::move(merger).Finish();
}

}  // namespace fairlead::workload
