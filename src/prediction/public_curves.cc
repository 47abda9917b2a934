#include "prediction/public_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/csv_reader.h"
#include "base/statistics.h"
#include "prediction/loss_cleaning.h"
#include "prediction/number_column.h"

namespace fairlead::prediction {

namespace {

enum class MetricForm { kLoss, kShare, kPercent };

struct PublicModel {
  std::string_view name;
  MetricForm form;
};
constexpr PublicModel kModels[] = {{"bert", MetricForm::kPercent},     {"cifar10", MetricForm::kShare},
                                   {"deepspeech2", MetricForm::kLoss}, {"imagenet", MetricForm::kShare},
                                   {"ncf", MetricForm::kShare},        {"yolov3", MetricForm::kLoss}};

double ToLoss(double metric, MetricForm form) {
  switch (form) {
    case MetricForm::kLoss:
      return metric;
    case MetricForm::kShare:
      return 1 - metric;
    case MetricForm::kPercent:
      return 1 - metric / 100;
  }
  return metric;
}

// Sets the target to 2 % above the last loss by the median of three epochs. Returns where that is first reached.
double FindEnd(JobRecord* job) {
  const std::vector<EpochReport>& epochs = job->epochs;
  const auto smooth = [&](size_t i) {
    const size_t first = std::min(i > 0 ? i - 1 : 0, epochs.size() - std::min<size_t>(3, epochs.size()));
    std::vector<double> losses;
    for (size_t j = first; j < std::min(first + 3, epochs.size()); ++j) losses.push_back(epochs[j].loss);
    return Median(std::move(losses));
  };
  job->description.target_loss = 1.02 * smooth(epochs.size() - 1);
  size_t end = 0;
  while (smooth(end) > job->description.target_loss) ++end;
  return epochs[end].iteration;
}

Result<JobRecord> LoadCurve(const std::filesystem::path& path, const PublicModel& model, double batch) {
  FL_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path.string()));
  FL_ASSIGN_OR_RETURN(const NumberColumn iteration, NumberColumn::Required(reader, "iteration"));
  FL_ASSIGN_OR_RETURN(const NumberColumn metric, NumberColumn::Required(reader, "metric"));
  JobRecord job;
  job.description.name = fmt::format("{}-{}", model.name, batch);
  job.description.global_batch = batch;
  while (reader.Next()) {
    EpochReport epoch;
    FL_ASSIGN_OR_RETURN(epoch.iteration, iteration.Read(reader));
    FL_ASSIGN_OR_RETURN(const double value, metric.Read(reader));
    epoch.loss = ToLoss(value, model.form);
    job.epochs.push_back(epoch);
  }
  FL_RETURN_IF_ERROR(reader.status());
  if (job.epochs.empty()) return InvalidArgument(path.string() + ": has no epochs");
  return job;
}

}  // namespace

Result<JobTable> LoadPublicCurves(const std::string& folder) {
  JobTable table;
  table.has_ends = true;
  for (const PublicModel& model : kModels) {
    const std::filesystem::path traces = std::filesystem::path(folder) / "traces" / model.name;
    std::error_code error;
    std::vector<std::pair<double, std::filesystem::path>> files;
    for (const auto& entry : std::filesystem::directory_iterator(traces, error)) {
      const std::string name = entry.path().stem().string();
      constexpr std::string_view kPrefix = "validation-";
      double batch = 0;
      if (!name.starts_with(kPrefix)) continue;
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), batch);
      files.emplace_back(batch, entry.path());
    }
    if (error) return NotFound(fmt::format("{}: no published validation curves there", traces.string()));
    std::ranges::sort(files);
    for (const auto& [batch, path] : files) {
      FL_ASSIGN_OR_RETURN(JobRecord job, LoadCurve(path, model, batch));
      table.true_ends.push_back(FindEnd(&job));
      table.jobs.push_back(std::move(job));
    }
  }
  return table;
}

}  // namespace fairlead::prediction
