#include "experiments/lab-crux/crux_case.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace fairlead::experiments::lab_crux {

namespace {

// As the paper writes them.
constexpr std::pair<std::string_view, std::string_view> kModels[] = {
    {"gpt", "GPT"}, {"bert", "BERT"}, {"resnet", "ResNet"}};

}  // namespace

std::vector<CaseJob> DescribeJobs(const std::vector<lab::LabJob>& jobs) {
  std::vector<CaseJob> described;
  for (const lab::LabJob& job : jobs) {
    CaseJob& one = described.emplace_back();
    const std::string name = job.name.substr(0, job.name.find('-'));
    const auto* const model =
        std::find_if(std::begin(kModels), std::end(kModels), [&](const auto& known) { return known.first == name; });
    one.model = model == std::end(kModels) ? name : std::string(model->second);
    one.compute_s = job.workers.front().plan.compute_s;
    for (const lab::LabWorker& worker : job.workers) one.num_gpus += worker.plan.num_gpus;
  }
  return described;
}

std::vector<double> MeanIterations(const lab::LabRunResult& run) {
  std::vector<double> means;
  for (const lab::LabJobResult& job : run.jobs) means.push_back(lab::MeanIterationOf(job));
  return means;
}

double Utilization(std::span<const CaseJob> jobs, std::span<const double> iteration_s) {
  FL_CHECK(jobs.size() == iteration_s.size());
  double busy = 0;
  double held = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    held += jobs[j].num_gpus;
    if (iteration_s[j] > 0) busy += jobs[j].num_gpus * jobs[j].compute_s / iteration_s[j];
  }
  return held > 0 ? busy / held : 0;
}

std::map<std::string, double> IterationsByModel(std::span<const CaseJob> jobs, std::span<const double> iteration_s) {
  FL_CHECK(jobs.size() == iteration_s.size());
  std::map<std::string, double> sums;
  std::map<std::string, double> counts;
  for (size_t j = 0; j < jobs.size(); ++j) {
    sums[jobs[j].model] += iteration_s[j] > 0 ? iteration_s[j] : std::numeric_limits<double>::infinity();
    counts[jobs[j].model] += 1;
  }
  for (auto& [model, sum] : sums) sum /= counts[model];
  return sums;
}

}  // namespace fairlead::experiments::lab_crux
