#include "report/health_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "report/number_format.h"

namespace fairlead::report {

namespace {

// What followed a fault, in how many cases and how soon.
struct Aftermath {
  std::vector<double> seconds;

  void Add(double met_s, double happened_s) {
    if (happened_s >= met_s) seconds.push_back(happened_s - met_s);
  }
  // "after 33 s (19 of 20)"; "never".
  std::string Text(size_t num_met) {
    if (seconds.empty()) return "never";
    const auto middle = seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    const std::string of = seconds.size() < num_met ? fmt::format(" ({} of {})", seconds.size(), num_met) : "";
    return fmt::format("after {}{}", FormatDuration(*middle), of);
  }
};

// All seeds of one policy.
class PolicyHealth {
 public:
  explicit PolicyHealth(std::string policy) : policy_(std::move(policy)) {}

  const std::string& policy() const { return policy_; }

  void Add(const sim::HealthResult& health) {
    ++num_runs_;
    num_faults_ += health.faults.size();
    for (const sim::FaultResult& fault : health.faults) {
      if (fault.hit_s < 0) continue;
      ++num_met_;
      found_.Add(fault.hit_s, fault.found_s);
      isolated_.Add(fault.hit_s, fault.isolated_s);
      resumed_.Add(fault.hit_s, fault.resumed_s);
    }
    hung_gpu_s_ += health.hung_gpu_s;
    repeated_gpu_s_ += health.repeated_gpu_s;
    restarted_gpu_s_ += health.restarted_gpu_s;
    slowed_gpu_s_ += health.slowed_gpu_s;
    away_gpu_s_ += health.away_gpu_s;
    num_wrong_isolations_ += health.num_wrong_isolations;
  }

  void Describe(std::vector<std::string>* sentences) {
    if (num_met_ == 0) return;
    sentences->push_back(
        fmt::format("{}: {} of {} faults met a job; found {}, host isolated {}, training on sound GPUs {}.", policy_,
                    num_met_, num_faults_, found_.Text(num_met_), isolated_.Text(num_met_), resumed_.Text(num_met_)));
    const double all = hung_gpu_s_ + repeated_gpu_s_ + restarted_gpu_s_ + slowed_gpu_s_;
    sentences->push_back(fmt::format(
        "{}: faults cost jobs {} GPU-hours{} ({} hung, {} repeated, {} restarting, {} slowed), and isolated "
        "hosts were away for {}; hosts isolated without a broken GPU: {}.",
        policy_, Hours(all), num_runs_ > 1 ? " a run" : "", Hours(hung_gpu_s_), Hours(repeated_gpu_s_),
        Hours(restarted_gpu_s_), Hours(slowed_gpu_s_), Hours(away_gpu_s_), num_wrong_isolations_));
  }

 private:
  // Of a run, on average.
  std::string Hours(double gpu_s) const { return FormatFixed(gpu_s / 3600 / static_cast<double>(num_runs_), 1); }

  std::string policy_;
  size_t num_runs_ = 0;
  size_t num_faults_ = 0;
  size_t num_met_ = 0;
  Aftermath found_, isolated_, resumed_;
  double hung_gpu_s_ = 0, repeated_gpu_s_ = 0, restarted_gpu_s_ = 0, slowed_gpu_s_ = 0, away_gpu_s_ = 0;
  uint64_t num_wrong_isolations_ = 0;
};

}  // namespace

std::vector<std::string> DescribeHealth(const sim::SimulationReport& report) {
  std::vector<PolicyHealth> policies;
  for (const sim::RunResult& run : report.runs) {
    if (!run.health) continue;
    const std::string name = run.allocation.empty() ? run.policy : run.allocation + " with " + run.policy;
    if (policies.empty() || policies.back().policy() != name) policies.emplace_back(name);
    policies.back().Add(*run.health);
  }
  std::vector<std::string> sentences;
  for (PolicyHealth& policy : policies) policy.Describe(&sentences);
  return sentences;
}

}  // namespace fairlead::report
