#include "lab/cable_changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/descriptor.h"
#include "base/file_reader.h"

namespace fairlead::lab {

namespace {

std::string CableChangesFile(const std::string& lab_folder) { return lab_folder + "/cables.jsonl"; }

std::optional<CableChange> ReadCableChange(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto at = json.find("at_s");
  const auto cable = json.find("cable");
  const auto health = json.find("health");
  const auto end = json.find("end");
  if (at == json.end() || !at->is_number() || cable == json.end() || !cable->is_string() || health == json.end() ||
      !health->is_number() || (end != json.end() && !end->is_number_unsigned())) {
    return std::nullopt;
  }
  CableChange change{.at_s = *at, .cable = *cable, .end = {}, .health = *health};
  if (end != json.end()) change.end = end->get<size_t>();
  return change;
}

}  // namespace

Status NoteCableChange(const std::string& lab_folder, CableChange change) {
  nlohmann::json json = {{"at_s", change.at_s}, {"cable", std::move(change.cable)}, {"health", change.health}};
  if (change.end) json["end"] = *change.end;
  const std::string line = json.dump() + "\n";
  const std::string path = CableChangesFile(lab_folder);
  // One write at the end of the file: lines of several commands don't mix.
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open() || write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return OkStatus();
}

std::vector<CableChange> ReadCableChanges(const std::string& lab_folder, double from_s, double to_s) {
  std::vector<CableChange> changes;
  std::istringstream lines(ReadFileIfThere(CableChangesFile(lab_folder)));
  for (std::string line; std::getline(lines, line);) {
    auto change = ReadCableChange(line);
    if (change && change->at_s >= from_s && change->at_s <= to_s) changes.push_back(std::move(*change));
  }
  std::ranges::stable_sort(changes, {}, &CableChange::at_s);
  return changes;
}

}  // namespace fairlead::lab
