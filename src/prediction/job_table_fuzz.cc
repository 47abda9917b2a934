// Any bytes as the two files of a job table, cut at the first NUL: an error that names its file, or jobs with finite
// features and a fit, or the reason why there is none.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "prediction/convergence_model.h"
#include "prediction/job_features.h"
#include "prediction/job_table.h"

namespace {

constexpr size_t kMostJobs = 4;
constexpr size_t kMostEpochs = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace prediction = fairlead::prediction;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(text.find('\0'), text.size());
  const std::string curves = cut < text.size() ? text.substr(cut + 1) : std::string("job,iteration,loss\n");
  const auto table = prediction::ReadJobTable({std::make_unique<std::istringstream>(text.substr(0, cut)), "jobs.csv"},
                                              {std::make_unique<std::istringstream>(curves), "curves.csv"});
  if (!table.ok()) {
    const std::string message(table.status().message());
    FL_CHECK_MSG(message.starts_with("jobs.csv") || message.starts_with("curves.csv"), message);
    return 0;
  }
  FL_CHECK(!table->jobs.empty() && table->true_ends.size() == table->jobs.size());
  for (size_t j = 0; j < std::min(table->jobs.size(), kMostJobs); ++j) {
    const prediction::JobRecord& job = table->jobs[j];
    if (job.epochs.size() > kMostEpochs) continue;
    for (const double feature : prediction::ComputeFeatures(job.description, job.epochs)) {
      FL_CHECK(std::isfinite(feature));
    }
    prediction::ConvergenceOptions options;
    options.num_bootstraps = 2;
    options.declared_drops = job.description.rate_drops;
    const auto fit = prediction::FitConvergence(prediction::LossCurve(job.epochs), options);
    if (!fit.usable()) continue;
    const auto remaining = prediction::PredictRemaining(fit, job.description.target_loss, job.epochs.back().iteration);
    FL_CHECK(remaining.expected >= 0);
  }
  return 0;
}
