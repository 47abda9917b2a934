#include "slurm/launch_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/printable_ascii.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kWhyBytesMax = 100;

// "[2026-11-29T02:38:51.952] Started …" without what stands before it; other forms of a line as they are.
std::string_view WithoutTime(std::string_view line) {
  const size_t end = line.starts_with('[') ? line.find("] ") : std::string_view::npos;
  return end == std::string_view::npos ? line : line.substr(end + 2);
}

// Whether `begin` and then `job` is in the line, and no further digit.
size_t FindJobBehind(std::string_view line, const std::string& begin) {
  const size_t at = line.find(begin);
  const size_t end = at + begin.size();
  if (at == std::string_view::npos) return at;
  const bool is_longer = end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0;
  return is_longer ? std::string_view::npos : end;
}

}  // namespace

std::optional<std::string> WhyNotLaunched(std::string_view log, uint32_t job) {
  const std::string killed = fmt::format("Killing non-startable batch JobId={}", job);
  // Of the two schedulers, 20.02 to 24.05.
  const std::string started = fmt::format("Started JobId={}", job);
  const std::string allocated = fmt::format("Allocate JobId={}", job);
  bool is_started = false;
  std::optional<std::string> why;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = WithoutTime(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    const size_t behind = line.starts_with(killed) ? FindJobBehind(line, killed) : std::string_view::npos;
    if (behind != std::string_view::npos && is_started) {
      const std::string_view rest = line.substr(behind);
      why = PrintableAscii(rest.substr(rest.starts_with(": ") ? 2 : 0, kWhyBytesMax));
    } else if (FindJobBehind(line, started) != std::string_view::npos ||
               FindJobBehind(line, allocated) != std::string_view::npos) {
      is_started = true;
      why.reset();
    }
  }
  return why;
}

}  // namespace fairlead::slurm
