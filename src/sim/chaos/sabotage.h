// Deliberately broken versions of the system, for tests: a search for violated laws that misses them is worthless.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace fairlead::sim::chaos {

enum class Sabotage : uint8_t {
  kNone,
  kForgottenState,     // an agent starts without the state of the one before
  kForgottenRules,     // an agent does not know what the kernel rewrites for the one before
  kNoLinger,           // an arrival's older port goes while packets with it are on their way
  kUnpreparedMoves,    // sources move before destinations are prepared
  kLostRecords,        // the controller's store forgets jobs
  kMessagesFirst,      // the controller sends before it saves
  kNoHeartbeats,       // heartbeats get lost
  kIgnoredClosings,    // closed connections are not reported
  kLateMessages,       // messages of an old stream come on the next one
  kRepeatedAnswers,    // processes are answered twice
  kSilentAnnouncement, // an announcement leaves a connection out
};

// [value of Sabotage]
inline constexpr std::array<std::string_view, 12> kSabotageNames = {
    "none",          "forgotten-state", "forgotten-rules", "no-linger",        "unprepared-moves",   "lost-records",
    "messages-first", "no-heartbeats",   "ignored-closings", "late-messages",    "repeated-answers",   "silent-announcement"};

}  // namespace fairlead::sim::chaos
