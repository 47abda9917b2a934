#include "report/background_report.h"

#include <fmt/format.h>

#include <utility>

#include "report/number_format.h"

namespace fairlead::report {

namespace {

// One stream under all seeds of one policy.
class StreamTotals {
 public:
  void Add(const sim::BackgroundResult& run) {
    name_ = run.name;
    num_skipped_ += run.num_skipped;
    num_unfinished_ += run.num_unfinished;
    num_messages_ += run.num_messages;
    if (run.num_messages == 0) return;
    num_runs_ += 1;
    gigabytes_ += run.gigabytes;
    p50_s_ += run.p50_s;
    p99_s_ += run.p99_s;
    slowdown_ += run.mean_slowdown;
  }

  std::string Describe(const std::string& policy) const {
    std::string text = fmt::format("{}: {}: ", policy, name_);
    if (num_messages_ == 0) {
      text += "no message has ended";
    } else {
      text += fmt::format(
          "{} of {} GB on average took {} at the median and at most {} in 99 of 100 cases, {} as long as alone",
          FormatCount(num_messages_, "message"), FormatShort(gigabytes_ / static_cast<double>(num_messages_)),
          FormatDuration(p50_s_ / num_runs_), FormatDuration(p99_s_ / num_runs_),
          FormatSlowdown(slowdown_ / num_runs_));
    }
    if (num_unfinished_ > 0) text += fmt::format("; {} had not ended", FormatCount(num_unfinished_));
    if (num_skipped_ > 0) text += fmt::format("; {} were due before the last one had ended", FormatCount(num_skipped_));
    return text + ".";
  }

 private:
  std::string name_;
  uint64_t num_messages_ = 0, num_unfinished_ = 0, num_skipped_ = 0;
  double num_runs_ = 0;  // with messages
  double gigabytes_ = 0, p50_s_ = 0, p99_s_ = 0, slowdown_ = 0;
};

}  // namespace

std::vector<std::string> DescribeBackground(const sim::SimulationReport& report) {
  std::vector<std::pair<std::string, std::vector<StreamTotals>>> policies;
  for (const sim::RunResult& run : report.runs) {
    if (run.background.empty()) continue;
    if (policies.empty() || policies.back().first != run.policy)
      policies.emplace_back(run.policy, run.background.size());
    for (size_t stream = 0; stream < run.background.size(); ++stream) {
      policies.back().second[stream].Add(run.background[stream]);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [policy, streams] : policies) {
    for (const StreamTotals& stream : streams) sentences.push_back(stream.Describe(policy));
  }
  return sentences;
}

}  // namespace fairlead::report
