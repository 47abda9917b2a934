#include "slurm/job_wish.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/whole_number.h"
#include "codec/json_text.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kCommentBytesMax = size_t{64} * 1024;

Status Strange(std::string_view expected, const codec::Json& found) {
  return InvalidArgument(fmt::format("its comment: expected {}, found {}", expected, codec::DescribeValue(found)));
}

// An empty object where it is no JSON.
Result<codec::Json> ReadComment(std::string_view comment) {
  const size_t begin = comment.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || comment[begin] != '{') return codec::Json::object();
  if (comment.size() > kCommentBytesMax) return InvalidArgument("its comment: longer than a wish can be");
  Result<codec::Json> json = codec::ParseJson(comment.substr(begin), "its comment");
  if (!json.ok()) return InvalidArgument("its comment begins as JSON, and is none");
  return json;
}

}  // namespace

Result<JobWish> ReadJobWish(std::string_view comment) {
  JobWish wish;
  FL_ASSIGN_OR_RETURN(const codec::Json json, ReadComment(comment));
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

Result<ElasticWish> ReadElasticWish(std::string_view comment) {
  ElasticWish wish;
  FL_ASSIGN_OR_RETURN(const codec::Json json, ReadComment(comment));
  const auto ours = json.find("fairlead");
  if (ours == json.end()) return wish;
  if (!ours->is_object()) return Strange("an object as fairlead", *ours);
  for (const auto& [key, value] : ours->items()) {
    if (key == "steps") {
      if (!value.is_number_unsigned() || value.get<uint64_t>() == 0) return Strange("a number above 0 as steps", value);
      wish.steps = value.get<uint64_t>();
    } else if (key == "progress" || key == "checkpoint") {
      if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('/')) {
        return Strange("an absolute path as " + key, value);
      }
      (key == "progress" ? wish.progress_file : wish.checkpoint_file) = value.get<std::string>();
    } else {
      return InvalidArgument(
          fmt::format("its comment: fairlead has steps, progress and checkpoint; found {}", codec::DescribeValue(key)));
    }
  }
  return wish;
}

std::optional<ElasticMark> ReadElasticMark(std::string_view admin_comment) {
  constexpr std::string_view kBegin = "fairlead:v1 nodes=";
  ElasticMark mark;
  mark.is_held = admin_comment.ends_with(kHeldWord);
  if (!admin_comment.starts_with(kBegin)) return std::nullopt;
  const std::string_view range = admin_comment.substr(kBegin.size());
  const auto [dash, low_error] = std::from_chars(range.data(), range.data() + range.size(), mark.nodes_min);
  const char* end = range.data() + range.size();
  if (low_error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [rest, high_error] = std::from_chars(dash + 1, end, mark.nodes_max);
  if (high_error != std::errc() || rest == end || *rest != ' ') return std::nullopt;
  if (mark.nodes_min == 0 || mark.nodes_max <= mark.nodes_min) return std::nullopt;
  constexpr std::string_view kTasks = " tasks-per-node=";
  std::string_view tasks(rest, static_cast<size_t>(end - rest));
  if (mark.is_held) tasks.remove_suffix(std::string_view(kHeldWord).size());
  if (!tasks.starts_with(kTasks) || !ParseWhole<uint32_t>(tasks.substr(kTasks.size())).has_value()) return std::nullopt;
  return mark;
}

std::string MarkHeld(std::string_view admin_comment) {
  return admin_comment.ends_with(kHeldWord) ? std::string(admin_comment) : std::string(admin_comment) + kHeldWord;
}

std::string MarkReleased(std::string_view admin_comment) {
  if (admin_comment.ends_with(kHeldWord)) admin_comment.remove_suffix(std::string_view(kHeldWord).size());
  return std::string(admin_comment);
}

}  // namespace fairlead::slurm
