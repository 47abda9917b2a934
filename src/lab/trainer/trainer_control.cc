#include "lab/trainer/trainer_control.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_reader.h"

namespace fairlead::lab {

namespace {

constexpr double kSecondsMax = 86'400;

}  // namespace

Result<TrainerRequests> ParseTrainerRequests(std::string_view text) {
  TrainerRequests requests;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return requests;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("expected a JSON object with busy_s, loader_s, pause_s, bad_order");
  for (const auto& [key, value] : json.items()) {
    if (key == "bad_order" && value.is_boolean()) {
      requests.bad_order = value.get<bool>();
      continue;
    }
    double* const target = key == "busy_s"     ? &requests.busy_s
                           : key == "loader_s" ? &requests.loader_s
                           : key == "pause_s"  ? &requests.pause_s
                                               : nullptr;
    if (target == nullptr) {
      return InvalidArgument(fmt::format("'{}' is unknown; expected busy_s, loader_s, pause_s, bad_order", key));
    }
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= kSecondsMax)) {
      return InvalidArgument(
          fmt::format("{}: expected seconds from 0 to {}, found {}", key, kSecondsMax, value.dump()));
    }
    *target = value.get<double>();
  }
  return requests;
}

const TrainerRequests& TrainerControl::Look() {
  struct stat found = {};
  if (path_.empty()) return requests_;
  Version version;
  if (stat(path_.c_str(), &found) == 0) {
    version = {found.st_mtim.tv_sec * int64_t{1'000'000'000} + found.st_mtim.tv_nsec, found.st_size, found.st_ino};
  }
  if (version == version_) return requests_;
  std::string content;
  if (version != Version()) content = ReadFileIfThere(path_);
  const auto requests = ParseTrainerRequests(content);
  if (!requests.ok()) {
    // It may be half written: that is no fault until it stays so.
    if (content == refused_) {
      fmt::print(stderr, "fairlead-trainer: {}: {}\n", path_, requests.status().message());
      version_ = version;
    }
    refused_ = content;
    return requests_;
  }
  version_ = version;
  if (content == content_) return requests_;
  content_ = std::move(content);
  requests_ = *requests;
  pause_s_ = requests_.pause_s;
  return requests_;
}

double TrainerControl::TakePause() { return std::exchange(pause_s_, 0.0); }

}  // namespace fairlead::lab
