// Deliberately broken versions of the system, for tests: a search for violated laws that misses them is worthless.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead::sim::hosts {

enum class Sabotage : uint8_t {
  kNone,
  kForgottenRules,      // an agent does not know what the kernel rewrites for the one before
  kForgottenArrivals,   // an arrival's older ports go at once
  kUnpreparedMoves,     // sources move before destinations are prepared
  kLostRecords,         // the controller starts with an empty store
  kLostHeartbeats,      // heartbeats get lost
  kLostOpenings,        // connections that open are not reported
  kLostClosings,        // connections that close are not reported
  kLostLevels,          // levels of running jobs get lost
  kLostClasses,         // sockets keep their class
  kRepeatedAnswers,     // processes are answered twice
  kSilentAnnouncement,  // an announcement leaves a connection out
  kLateAnswers,         // processes wait longer for their agent than they do
  kLostSteering,        // the controller starts without the records of steering
  kUnkeptActions,       // actions begin before they are recorded
  kBlamedNeighbours,    // findings are about the next host
  kHastyDeaths,         // a process that cannot be seen counts as dead
};

// [value of Sabotage]
inline constexpr std::array<std::string_view, 17> kSabotageNames = {
    "none",         "forgotten_rules", "forgotten_arrivals", "unprepared_moves",
    "lost_records", "lost_heartbeats", "lost_openings",      "lost_closings",
    "lost_levels",  "lost_classes",    "repeated_answers",   "silent_announcement",
    "late_answers", "lost_steering",   "unkept_actions",     "blamed_neighbours",
    "hasty_deaths"};

}  // namespace fairlead::sim::hosts
