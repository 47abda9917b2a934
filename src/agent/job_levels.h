// Levels of jobs as the controller last reported them, and the traffic class that their packets get.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace fairlead::agent {

// Traffic class (DSCP << 2) of a level, 0 .. 7: level 0 is DSCP 56.
constexpr uint8_t TrafficClassOf(uint32_t level) { return static_cast<uint8_t>(((7 - level) << 3) << 2); }

constexpr uint32_t LevelOf(uint8_t traffic_class) { return 7u - (traffic_class >> 5); }

using JobLevels = std::map<std::string, uint32_t>;

// Nothing: the job has no level.
inline std::optional<uint8_t> ClassOf(const JobLevels& levels, const std::string& job) {
  const auto level = levels.find(job);
  if (level == levels.end()) return std::nullopt;
  return TrafficClassOf(level->second);
}

}  // namespace fairlead::agent
