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

Result<TrainerWishes> ParseTrainerWishes(std::string_view text) {
  TrainerWishes wishes;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return wishes;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("expected a JSON object with busy_s, loader_s, pause_s, bad_order");
  for (const auto& [key, value] : json.items()) {
    if (key == "bad_order" && value.is_boolean()) {
      wishes.bad_order = value.get<bool>();
      continue;
    }
    double* const target = key == "busy_s"     ? &wishes.busy_s
                           : key == "loader_s" ? &wishes.loader_s
                           : key == "pause_s"  ? &wishes.pause_s
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
  return wishes;
}

const TrainerWishes& TrainerControl::Look() {
  struct stat found = {};
  if (path_.empty()) return wishes_;
  Version version;
  if (stat(path_.c_str(), &found) == 0) {
    version = {found.st_mtim.tv_sec * int64_t{1'000'000'000} + found.st_mtim.tv_nsec, found.st_size, found.st_ino};
  }
  if (version == version_) return wishes_;
  std::string content;
  if (version != Version()) content = ReadFileIfThere(path_);
  const auto wishes = ParseTrainerWishes(content);
  if (!wishes.ok()) {
    // It may be half written: that is no fault until it stays so.
    if (content == refused_) {
      fmt::print(stderr, "fairlead-trainer: {}: {}\n", path_, wishes.status().message());
      version_ = version;
    }
    refused_ = content;
    return wishes_;
  }
  version_ = version;
  if (content == content_) return wishes_;
  content_ = std::move(content);
  wishes_ = *wishes;
  pause_s_ = wishes_.pause_s;
  return wishes_;
}

double TrainerControl::TakePause() { return std::exchange(pause_s_, 0.0); }

}  // namespace fairlead::lab
