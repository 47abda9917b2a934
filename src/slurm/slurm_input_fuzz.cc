// Any bytes are an answer of Slurm, a comment of a user, a topology.conf, or a job script, or a clear error that is fit
// to be printed.
// What is read keeps the bounds of its declaration. The first byte says which of them the rest is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/printable_ascii.h"
#include "base/status.h"
#include "slurm/host_list.h"
#include "slurm/job_comment.h"
#include "slurm/job_script.h"
#include "slurm/job_wish.h"
#include "slurm/json_answers.h"
#include "slurm/launch_log.h"
#include "slurm/text_answers.h"
#include "slurm/topology_conf.h"

namespace {

using namespace fairlead;

void CheckMessage(const Status& status) {
  FL_CHECK(status.ok() || !status.message().empty());
  FL_CHECK(std::ranges::all_of(status.message(), IsPrintableAscii));
}

template <class T>
bool IsRead(const Result<T>& result) {
  CheckMessage(result.status());
  return result.ok();
}

void ReadHosts(std::string_view text) {
  if (const auto hosts = slurm::ExpandHosts(text); IsRead(hosts)) {
    FL_CHECK(hosts->size() <= slurm::kNumHostsMax);
    FL_CHECK(std::ranges::none_of(*hosts, [](const std::string& host) { return host.empty(); }));
  }
  IsRead(slurm::ExpandNumbers(text));
  slurm::CountGpus(text);
  slurm::GpuIndices(text);
  slurm::SplitList(text);
}

void ReadComment(std::string_view text) {
  if (const auto wish = slurm::ReadJobWish(text); IsRead(wish)) slurm::WhyNotRequeue(*wish, 1);
  if (const auto wish = slurm::ReadElasticWish(text); IsRead(wish)) {
    FL_CHECK(wish->steps.value_or(1) > 0);
    FL_CHECK(wish->progress_file.empty() || wish->progress_file.front() == '/');
    FL_CHECK(wish->checkpoint_file.empty() || wish->checkpoint_file.front() == '/');
  }
  if (const auto told = slurm::CommentWithAccount(text, "4 nodes")) {
    FL_CHECK(told->size() <= slurm::kJobCommentBytesMax && slurm::AccountOf(*told) == "4 nodes");
    FL_CHECK(slurm::CommentWithAccount(*told, "4 nodes") == told);
  }
  const auto mark = slurm::ReadElasticMark(text);
  if (!mark.has_value()) return;
  FL_CHECK(mark->nodes_min > 0 && mark->nodes_max > mark->nodes_min);
  FL_CHECK(slurm::ReadElasticMark(slurm::MarkHeld(text))->is_held);
  FL_CHECK(!slurm::ReadElasticMark(slurm::MarkReleased(text))->is_held);
}

void ReadScript(std::string_view text) {
  const auto checks = slurm::CheckJobScript(text);
  if (!IsRead(checks)) return;
  for (const slurm::ScriptCheck& check : *checks) {
    FL_CHECK(!check.name.empty());
    FL_CHECK(std::ranges::all_of(check.found, IsPrintableAscii));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'h':
      ReadHosts(text);
      break;
    case 'o':
      IsRead(slurm::ReadTopologyConf(text, "topology.conf", 100));
      break;
    case 'c':
      ReadComment(text);
      break;
    case 's':
      ReadScript(text);
      break;
    case 't':
      IsRead(slurm::ReadJobLines(text));
      IsRead(slurm::ReadNodeLines(text));
      IsRead(slurm::ReadPartitionLines(text));
      IsRead(slurm::ReadReservationLines(text));
      (void)slurm::WhyNotLaunched(text, 5);
      break;
    case 'j':
      IsRead(slurm::ReadJobsJson(text));
      IsRead(slurm::ReadNodesJson(text));
      IsRead(slurm::ReadPartitionsJson(text));
      IsRead(slurm::ReadReservationsJson(text));
      break;
    default:
      return -1;  // not worth keeping
  }
  return 0;
}
