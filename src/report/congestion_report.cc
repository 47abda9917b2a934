#include "report/congestion_report.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "report/number_format.h"
#include "report/run_summary.h"

namespace fairlead::report {

namespace {

// All seeds of one policy.
class PolicyCongestion {
 public:
  explicit PolicyCongestion(std::string policy) : policy_(std::move(policy)) {}

  const std::string& policy() const { return policy_; }

  void Add(const sim::RunResult& run) {
    if (!run.congestion_loss || run.simulated_s <= 0) return;
    double cnps = 0;
    for (const sim::JobResult& job : run.jobs) cnps += job.cnps.value_or(0);
    cnps_per_second_.push_back(cnps / run.simulated_s);
    losses_.push_back(*run.congestion_loss);
    for (const sim::LinkResult& link : run.links) {
      if (link.queue && link.queue->mean_bytes > longest_.mean_bytes) {
        longest_ = *link.queue;
        longest_link_ = link.name;
      }
    }
  }

  void Describe(std::vector<std::string>* sentences) const {
    if (losses_.empty()) return;
    const double cnps_per_second = SpreadOf(cnps_per_second_).mean;
    if (cnps_per_second == 0) {
      sentences->push_back(
          fmt::format("{}: congestion control had nothing to do: no switch held flows back.", policy_));
      return;
    }
    std::string sentence = fmt::format(
        "{}: congestion control sent {} CNPs per second; links that held flows back lost {} to the saw-tooth of rates",
        policy_, FormatShort(cnps_per_second), FormatPercent(SpreadOf(losses_).mean));
    if (longest_.mean_bytes > 0) {
      sentence += fmt::format("; the longest queue, at {}, holds {} bytes on average, {} while it is there",
                              longest_link_, FormatShort(longest_.mean_bytes), FormatShort(longest_.most_bytes));
    }
    sentences->push_back(sentence + ".");
  }

 private:
  std::string policy_;
  std::vector<double> cnps_per_second_;  // [seed], mean over the simulated time
  std::vector<double> losses_;           // [seed]
  sim::LinkQueueResult longest_;         // of all seeds
  std::string longest_link_;
};

}  // namespace

std::vector<std::string> DescribeCongestion(const sim::SimulationReport& report) {
  std::vector<PolicyCongestion> policies;
  for (const sim::RunResult& run : report.runs) {
    if (policies.empty() || policies.back().policy() != run.policy) policies.emplace_back(run.policy);
    policies.back().Add(run);
  }
  std::vector<std::string> sentences;
  for (const PolicyCongestion& policy : policies) policy.Describe(&sentences);
  return sentences;
}

}  // namespace fairlead::report
