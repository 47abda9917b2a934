#include "service/agent/thread_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/printable_ascii.h"
#include "model/telemetry.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {
namespace {

using model::ThreadState;

// Threads of one pool are numbered.
std::string NameOfKind(std::string_view name) {
  const size_t last = std::min(name.find_last_not_of("0123456789"), name.size() - 1);
  return PrintableAscii(name.substr(0, std::min(last + 1, telemetry::kProcessTextMax)));
}

ThreadState StateOf(char letter) {
  switch (letter) {
    case 'R':
      return ThreadState::kRunning;
    case 'D':
      return ThreadState::kBlocked;
    case 'T':
    case 't':
      return ThreadState::kStopped;
    case 'Z':
    case 'X':
    case 'x':
      return ThreadState::kEnded;
    default:
      return ThreadState::kSleeping;
  }
}

std::string PlaceOf(const std::string& folder) {
  if (const auto stack = ReadProcFile(folder + "/stack"); stack.ok()) return ParseKernelStack(*stack);
  const auto function = ReadProcFile(folder + "/wchan");
  return function.ok() && *function != "0"
             ? PrintableAscii(std::string_view(*function).substr(0, telemetry::kThreadPlaceMax))
             : "";
}

}  // namespace

std::string ParseKernelStack(std::string_view text) {
  std::string place;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    // "[<0>] futex_wait+0x74/0xf0"
    line.remove_prefix(std::min(line.size(), line.find("] ") == std::string_view::npos ? 0 : line.find("] ") + 2));
    std::string_view function = line.substr(0, line.find_first_of("+. "));
    if (function.empty() || function.starts_with("do_syscall") || function.starts_with("entry_")) continue;
    for (const std::string_view prefix : {"__x64_", "__arm64_"}) {
      if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
    }
    const std::string_view separator = place.empty() ? "" : " < ";
    if (place.size() + separator.size() + function.size() > telemetry::kThreadPlaceMax) break;
    place += fmt::format("{}{}", separator, PrintableAscii(function));
  }
  return place;
}

ProcessThreads ReadThreads(const std::string& proc_folder, int32_t pid, uint32_t num_max) {
  ProcessThreads threads;
  std::map<std::tuple<std::string, ThreadState, std::string>, model::ThreadGroup> groups;
  const std::string tasks = fmt::format("{}/{}/task", proc_folder, pid);
  for (const int32_t thread : ReadProcNumbers(tasks)) {
    if (threads.num_read == num_max) break;
    const std::string folder = fmt::format("{}/{}", tasks, thread);
    const auto stat = ReadProcFile(folder + "/stat");
    ++threads.num_read;
    if (!stat.ok()) continue;  // it has ended
    const std::optional<StatLine> line = ParseStatLine(*stat);
    if (!line.has_value()) continue;
    model::ThreadGroup group{
        .name = NameOfKind(line->name), .state = StateOf(line->fields.front()), .place = PlaceOf(folder), .count = 0};
    const auto key = std::tuple(group.name, group.state, group.place);
    model::ThreadGroup& known = groups.try_emplace(key, std::move(group)).first->second;
    ++known.count;
    known.is_first |= thread == pid;
  }
  for (auto& [key, group] : groups) threads.groups.push_back(std::move(group));
  std::ranges::stable_sort(threads.groups, [](const model::ThreadGroup& one, const model::ThreadGroup& other) {
    return std::pair(one.is_first, one.count) > std::pair(other.is_first, other.count);
  });
  if (threads.groups.size() > telemetry::kThreadGroupsMax) threads.groups.resize(telemetry::kThreadGroupsMax);
  return threads;
}

bool Stillness::IsDue(const telemetry::ProcessReport& report) {
  const bool has_moved =
      report.operations != operations_ || report.progress != progress_ ||
      std::ranges::any_of(report.connections, [](const model::ConnectionRecord& c) { return c.messages > 0; });
  if (has_moved || report.communicators.empty() || report.is_finalizing) {
    operations_ = report.operations;
    progress_ = report.progress;
    still_since_ = report.at;
    return false;
  }
  return report.at - still_since_ >= kStillFor && report.at - looked_ >= kAgainAfter;
}

}  // namespace fairlead::service
