#include "model/finding.h"

#include <array>

namespace fairlead::model {

namespace {

template <class Enum, size_t Size>
std::string_view NameIn(const std::array<std::string_view, Size>& names, Enum value) {
  return names.at(static_cast<size_t>(value));
}

}  // namespace

std::string_view Name(Syndrome syndrome) {
  static constexpr std::array<std::string_view, kNumSyndromes> kNames = {
      "comm_hang", "non_comm_hang", "comm_slow", "non_comm_slow", "dead", "unreachable", "mismatch"};
  return NameIn(kNames, syndrome);
}

std::string_view Name(CulpritKind kind) {
  static constexpr std::array<std::string_view, 8> kNames = {"rank", "host",       "NIC send side", "NIC receive side",
                                                             "NIC",  "connection", "leaf",          "plane"};
  return NameIn(kNames, kind);
}

std::string_view Name(SubCause cause) {
  static constexpr std::array<std::string_view, 7> kNames = {"unknown",   "GPU",     "host thread", "throttled",
                                                             "GPU error", "network", "process"};
  return NameIn(kNames, cause);
}

std::string_view Name(Sign sign) {
  static constexpr std::array<std::string_view, 6> kNames = {"peers",  "own_ranks", "kernel",
                                                             "device", "silence",   "test"};
  return NameIn(kNames, sign);
}

std::string_view Name(RecommendedAction action) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "none", "watch", "report software", "restart", "isolate and restart", "repair path"};
  return NameIn(kNames, action);
}

}  // namespace fairlead::model
