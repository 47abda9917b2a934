#include "report/control_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_format.h"

namespace fairlead::report {

namespace {

struct Errors {
  std::vector<double> iteration_time, work, bytes;
};

std::string MedianAndLargest(std::vector<double>* errors) {
  std::sort(errors->begin(), errors->end());
  return fmt::format("{} (largest {})", FormatPercent((*errors)[errors->size() / 2]), FormatPercent(errors->back()));
}

// All seeds of one policy.
class PolicyControl {
 public:
  explicit PolicyControl(std::string policy) : policy_(std::move(policy)) {}

  const std::string& policy() const { return policy_; }

  void Add(const sim::RunResult& run) {
    num_plans_ += run.num_plans;
    num_changing_ += run.control.size();
    for (const sim::ControlChange& change : run.control) {
      flows_moved_ += change.path_changes;
      levels_changed_ += change.level_changes;
      most_flows_ = std::max(most_flows_, change.path_changes);
    }
    if (run.migration) {
      num_moving_plans_ += run.migration->num_plans;
      num_unrelieved_ += run.migration->num_unrelieved;
      moved_jobs_ += run.migration->moved_jobs;
      moved_gpus_ += run.migration->moved_gpus;
      stopped_s_ += run.migration->stopped_s;
    }
    if (run.placement_choices) choices_.Add(*run.placement_choices);
    for (const sim::JobResult& job : run.jobs) {
      if (!job.profiling_error) continue;
      errors_.iteration_time.push_back(std::abs(job.profiling_error->iteration_time));
      errors_.work.push_back(std::abs(job.profiling_error->work));
      errors_.bytes.push_back(std::abs(job.profiling_error->bytes));
    }
  }

  void Describe(std::vector<std::string>* sentences) {
    if (num_changing_ > 0) {
      sentences->push_back(
          fmt::format("{}: {} of {} new plans changed running jobs: {} flows moved, at most {} at once, and {} "
                      "level changes.",
                      policy_, num_changing_, num_plans_, flows_moved_, most_flows_, levels_changed_));
    }
    if (num_moving_plans_ + num_unrelieved_ > 0) {
      sentences->push_back(fmt::format(
          "{}: {} times jobs changed hosts, {} jobs and {} GPUs in all, which stood still for {} s; {} times a rack "
          "had "
          "too many rings and no plan helped.",
          policy_, num_moving_plans_, moved_jobs_, moved_gpus_, FormatFixed(stopped_s_, 1), num_unrelieved_));
    }
    if (choices_.num_choices > 0) {
      const auto num_choices = static_cast<double>(choices_.num_choices);
      sentences->push_back(fmt::format(
          "{}: {} jobs had a choice of {} places on average, and {} took another than the placement policy's, which "
          "raised the mean score of their links from {} to {}; {} places closed loops, and {} jobs had only such.",
          policy_, choices_.num_choices, FormatFixed(static_cast<double>(choices_.num_candidates) / num_choices, 1),
          choices_.num_changed, FormatFixed(choices_.first_score / num_choices, 3),
          FormatFixed(choices_.score / num_choices, 3), choices_.num_looped, choices_.num_fallbacks));
    }
    if (errors_.work.empty()) return;
    sentences->push_back(
        fmt::format("{}: {} jobs profiled before the policy saw them; median error of the iteration time {}, of the "
                    "work {}, of the bytes {}.",
                    policy_, errors_.work.size(), MedianAndLargest(&errors_.iteration_time),
                    MedianAndLargest(&errors_.work), MedianAndLargest(&errors_.bytes)));
  }

 private:
  std::string policy_;
  uint64_t num_plans_ = 0;
  uint64_t num_changing_ = 0;
  uint64_t flows_moved_ = 0;
  uint64_t most_flows_ = 0;
  uint64_t levels_changed_ = 0;
  uint64_t num_moving_plans_ = 0;
  uint64_t num_unrelieved_ = 0;
  uint64_t moved_jobs_ = 0;
  uint64_t moved_gpus_ = 0;
  double stopped_s_ = 0;
  traffic::PlacementCounters choices_;
  Errors errors_;
};

}  // namespace

std::vector<std::string> DescribeControl(const sim::SimulationReport& report) {
  std::vector<PolicyControl> policies;
  for (const sim::RunResult& run : report.runs) {
    if (policies.empty() || policies.back().policy() != run.policy) policies.emplace_back(run.policy);
    policies.back().Add(run);
  }
  std::vector<std::string> sentences;
  for (PolicyControl& policy : policies) policy.Describe(&sentences);
  return sentences;
}

}  // namespace fairlead::report
