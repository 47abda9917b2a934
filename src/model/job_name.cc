#include "model/job_name.h"

#include <fmt/format.h>

#include "base/printable_ascii.h"

namespace fairlead::model {

std::string PrintableText(std::string_view text) {
  constexpr size_t kShownMax = 40;
  return PrintableAscii(text.substr(0, kShownMax)) + (text.size() > kShownMax ? ".." : "");
}

Status CheckJobName(std::string_view name, std::string_view where, size_t bytes_max) {
  if (shm::IsJobName(name) && name.size() <= bytes_max) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: expected the name of a job, 1 to {} of A-Z a-z 0-9 . _ -, found {}", where, bytes_max,
                  name.empty() ? "nothing" : fmt::format("'{}' ({} bytes)", PrintableText(name), name.size())));
}

}  // namespace fairlead::model
