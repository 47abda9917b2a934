#include "slurm/job_wish.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/json_text.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kCommentBytesMax = 64 * 1024;

Status Strange(std::string_view expected, const codec::Json& found) {
  return InvalidArgument(fmt::format("its comment: expected {}, found {}", expected, codec::DescribeValue(found)));
}

}  // namespace

Result<JobWish> ReadJobWish(std::string_view comment) {
  JobWish wish;
  const size_t begin = comment.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || comment[begin] != '{') return wish;
  if (comment.size() > kCommentBytesMax) return InvalidArgument("its comment: longer than a wish can be");
  const auto parsed = codec::ParseJson(comment.substr(begin), "its comment");
  if (!parsed.ok()) return InvalidArgument("its comment begins as JSON, and is none");
  const codec::Json& json = *parsed;
  const auto aps = json.find("APS");
  if (aps == json.end()) return wish;
  if (!aps->is_object()) return Strange("an object as APS", *aps);
  if (const auto mode = aps->find("auto_resume_mode"); mode != aps->end()) {
    static constexpr std::array<std::string_view, 3> kNever = {"none", "off", "disabled"};
    const std::string text = mode->is_string() ? mode->get<std::string>() : std::string();
    wish.may_requeue = std::ranges::find(kNever, text) == kNever.end();
    if (wish.may_requeue && text != "requeue") return Strange("requeue or none as auto_resume_mode", *mode);
  }
  if (const auto times = aps->find("max_requeue_times"); times != aps->end()) {
    if (!times->is_number_unsigned() || times->get<uint64_t>() > UINT32_MAX) {
      return Strange("a number as max_requeue_times", *times);
    }
    wish.max_requeues = times->get<uint32_t>();
  }
  return wish;
}

std::string WhyNotRequeue(const JobWish& wish, uint32_t num_restarts) {
  if (!wish.may_requeue) return "its comment wishes that it is not requeued";
  if (!wish.max_requeues.has_value() || num_restarts < *wish.max_requeues) return "";
  return fmt::format("its comment wishes {} requeues at most, and it had {}", *wish.max_requeues, num_restarts);
}

}  // namespace fairlead::slurm
