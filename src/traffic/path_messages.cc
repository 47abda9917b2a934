#include "traffic/path_messages.h"

#include <array>

namespace fairlead::traffic {

std::string_view Name(LinkState state) {
  constexpr std::array<std::string_view, 4> kNames = {"up", "suspect", "down", "probation"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view Name(QueuePairAnswer::Kind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"use", "scan", "no port", "unmanaged"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view Name(MoveCause cause) {
  constexpr std::array<std::string_view, kNumMoveCauses> kNames = {
      "link down", "link back",  "link degraded", "imbalance", "path available",
      "stranded",  "port found", "repinned",      "no port",   "corrected"};
  return kNames[static_cast<size_t>(cause)];
}

}  // namespace fairlead::traffic
