#include "model/telemetry.h"

#include <array>

namespace fairlead::model {

std::string_view Name(ThreadState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"sleeping", "running", "blocked", "stopped", "ended"};
  return kNames.at(static_cast<size_t>(state));
}

}  // namespace fairlead::model
