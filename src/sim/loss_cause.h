// Why a job loses time: the causes that the account of delay tells apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairlead::sim {

enum class LossCause : uint8_t {
  kJob,            // another job of its level had part of the link that bounded it
  kSelf,           // its own flows asked a link for more than it has, which those of its yardstick don't
  kLevel,          // a job of a more important level had part of the link
  kCapacity,       // the link had less than its healthy capacity, or there was no path
  kRestart,        // GPUs held before training continued, and iterations that a restart threw away
  kProfiling,      // a job that was being profiled had part of the link
  kBackground,     // checkpoints or traffic of inference had part of the link
  kShift,          // it waited for its time shift
  kReordering,     // packets that took several paths were put in order
  kNotAttributed,  // what rests
};

// "job", "self", "level", "capacity", "restart", "profiling", "background", "shift", "reordering", "not_attributed".
std::string_view LossCauseName(LossCause cause);

}  // namespace fairlead::sim
