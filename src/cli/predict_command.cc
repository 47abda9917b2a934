// fairlead predict: will this job's end be known, and when is it? Train a model, score jobs, make jobs to try it on.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "cli/predict_speed.h"
#include "prediction/classifier_selection.h"
#include "prediction/convergence_model.h"
#include "prediction/job_generator.h"
#include "prediction/job_table.h"
#include "prediction/predictability_model.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using report::Align;
using report::Json;

struct PredictOptions {
  std::string jobs;
  std::string curves;
  std::string model;
  std::string output;
  std::string learner = "best";
  std::string job;
  OutputOptions printed;
  uint64_t seed = 1;
  uint32_t num_jobs = 120;
  uint32_t stride = 5;
  uint32_t num_epochs = 0;  // 0: all
};

Result<prediction::JobTable> LoadJobs(const PredictOptions& options) {
  return prediction::LoadJobTable(FindInputFile(options.jobs), FindInputFile(options.curves));
}

int Generate(const PredictOptions& options) {
  const prediction::JobTable table =
      prediction::ToJobTable(prediction::GenerateJobs({.seed = options.seed, .num_jobs = options.num_jobs}));
  const std::filesystem::path folder = options.output;
  const std::string jobs = (folder / "jobs.csv").string();
  const std::string curves = (folder / "curves.csv").string();
  if (const Status status = PrepareOutputFolder(jobs); !status.ok()) return ReportError(status);
  if (const Status status = WriteOutput(jobs, prediction::JobsToCsv(table)); !status.ok()) return ReportError(status);
  if (const Status status = WriteOutput(curves, CurvesToCsv(table)); !status.ok()) return ReportError(status);
  fmt::print("wrote {} to {} and {}\n", report::FormatCount(table.jobs.size(), "job"), jobs, curves);
  return kExitOk;
}

report::Document RenderComparison(const std::vector<prediction::LearnerResult>& results) {
  report::TextTable table({{"learner", Align::kLeft},
                           {"accuracy", Align::kRight, "", "share of rows that are labelled right"},
                           {"precision", Align::kRight, "", "share of those called predictable that are"},
                           {"recall", Align::kRight, "", "share of the predictable ones that are found"},
                           {"Brier", Align::kRight, "", "mean squared error of the score, 0 is best"}});
  for (const prediction::LearnerResult& result : results) {
    const auto& m = result.metrics;
    table.AddRow({std::string(Name(result.kind)), report::FormatPercent(m.accuracy), report::FormatPercent(m.precision),
                  report::FormatPercent(m.recall), report::FormatFixed(m.brier, 3)});
  }
  return fmt::format("Jobs not seen in training, five folds; always saying the more frequent label: {}\n\n",
                     report::FormatPercent(results.front().metrics.majority)) +
         report::Document(std::move(table)) + "\n";
}

report::Document RenderCalibration(const prediction::ClassifierMetrics& metrics) {
  report::TextTable table({{"score", Align::kLeft, "", "score of the chosen learner, 0 to 1"},
                           {"rows", Align::kRight, "", "epochs of jobs with such a score"},
                           {"mean score", Align::kRight},
                           {"predictable", Align::kRight, "", "share of them that are; near the mean score is best"}});
  for (size_t i = 0; i < metrics.calibration.size(); ++i) {
    const auto& bin = metrics.calibration[i];
    if (bin.count == 0) continue;
    table.AddRow({fmt::format("{:.1f} to {:.1f}", 0.1 * static_cast<double>(i), 0.1 * static_cast<double>(i + 1)),
                  report::FormatCount(bin.count), report::FormatFixed(bin.mean_score, 2),
                  report::FormatPercent(bin.positive_share)});
  }
  return report::Document(std::move(table)) + "\n";
}

Json ToJson(const prediction::LearnerResult& result) {
  const auto& m = result.metrics;
  Json json = {{"learner", Name(result.kind)},
               {"accuracy", report::NumberOrNull(m.accuracy)},
               {"precision", report::NumberOrNull(m.precision)},
               {"recall", report::NumberOrNull(m.recall)},
               {"brier", report::NumberOrNull(m.brier)},
               {"calibration", Json::array()}};
  for (const auto& bin : m.calibration) {
    json["calibration"].push_back(
        {{"rows", bin.count}, {"mean_score", bin.mean_score}, {"predictable", bin.positive_share}});
  }
  return json;
}

Json ToJson(const prediction::FeatureTable& table, const prediction::FeatureSelection& selection) {
  Json features = Json::array();
  for (size_t i = 0; i < table.num_columns(); ++i) {
    const prediction::FeatureStatistics& s = selection.statistics[i];
    features.push_back({{"name", table.names[i]},
                        {"pearson", s.pearson},
                        {"spearman", s.spearman},
                        {"kendall", s.kendall},
                        {"importance", s.importance},
                        {"kept", s.is_kept},
                        {"reason", report::NameOrNull(s.reason)}});
  }
  return features;
}

Status CheckTrainable(const PredictOptions& options, const prediction::JobTable& jobs,
                      const prediction::FeatureTable& table) {
  if (!jobs.has_ends) {
    return InvalidArgument(
        options.jobs +
        ": has no column end_iteration; training needs finished jobs and where each was over (empty: "
        "never)");
  }
  if (table.num_rows() > 0) return OkStatus();
  return InvalidArgument(options.curves + ": no job has more than five epochs before its end; give longer curves");
}

int Train(const PredictOptions& options) {
  auto files = OutputFiles::Prepare(options.printed);
  if (!files.ok()) return ReportError(files.status());
  if (const Status status = PrepareOutputFolder(options.output); !status.ok()) return ReportError(status);
  const auto jobs = LoadJobs(options);
  if (!jobs.ok()) return ReportError(jobs.status());
  const prediction::FeatureTable table = prediction::MakeTrainingTable(*jobs, options.stride);
  if (const Status status = CheckTrainable(options, *jobs, table); !status.ok()) return ReportError(status);
  std::vector<prediction::LearnerKind> kinds(prediction::kAllLearnerKinds.begin(), prediction::kAllLearnerKinds.end());
  if (const auto kind = prediction::FindLearnerKind(options.learner)) kinds = {*kind};
  const auto results = prediction::CompareLearners(table, kinds, options.seed);
  if (!results.ok()) return ReportError(results.status());
  const prediction::FeatureSelection selection = prediction::SelectFeatures(table, options.seed);
  if (selection.kept.empty()) return ReportError(InvalidArgument(options.jobs + ": all jobs look the same"));
  const prediction::LearnerResult& best = (*results)[prediction::BestLearner(*results)];
  const auto model = prediction::PredictabilityModel::Train(table, best.kind, selection, options.seed);
  if (const Status status = model.Save(options.output); !status.ok()) return ReportError(status);
  report::Document text =
      fmt::format("{} of {}, {} of {} features kept\n", report::FormatCount(table.num_rows(), "row"),
                  report::FormatCount(jobs->jobs.size(), "job"), selection.kept.size(), table.num_columns());
  text += RenderComparison(*results) + RenderCalibration(best.metrics);
  files->Print(text + fmt::format("saved {} as {}\n", Name(best.kind), options.output));
  Json json = {{"rows", table.num_rows()},
               {"jobs", jobs->jobs.size()},
               {"majority", best.metrics.majority},
               {"chosen", Name(best.kind)},
               {"learners", Json::array()}};
  for (const auto& result : *results) json["learners"].push_back(ToJson(result));
  json["features"] = ToJson(table, selection);
  files->WriteJson("JSON", [&] { return report::Dump(json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

// Everything printed about one job.
struct JobScore {
  const prediction::JobRecord* job = nullptr;
  double score = 0;
  bool is_predictable = false;
  prediction::ConvergenceFit fit;
  std::optional<prediction::RemainingIterations> remaining;
  std::vector<prediction::ScoreInfluence> influences;
};

JobScore ScoreJob(const prediction::PredictabilityModel& model, const prediction::JobRecord& job) {
  JobScore result;
  result.job = &job;
  const prediction::FeatureValues features = ComputeFeatures(job.description, job.epochs);
  result.score = model.Score(features);
  result.influences = model.Explain(features);
  prediction::ConvergenceOptions options;
  options.declared_drops = job.description.rate_drops;
  result.fit = FitConvergence(prediction::LossCurve(job.epochs), options);
  const double now = job.epochs.empty() ? 0 : job.epochs.back().iteration;
  if (job.description.total_iterations > 0) {
    result.remaining = prediction::FixedRemaining(job.description.total_iterations, now);
  } else if (result.fit.usable() && job.description.target_loss > 0) {
    result.remaining = PredictRemaining(result.fit, job.description.target_loss, now);
  }
  // A fixed number of iterations needs no classifier; without a usable fit no classifier helps.
  result.is_predictable = job.description.total_iterations > 0 || (result.fit.usable() && result.score >= 0.5);
  return result;
}

std::string Why(const JobScore& score) {
  if (score.job->description.total_iterations > 0) return "has a fixed number of iterations";
  if (!score.fit.usable()) return std::string(Explain(score.fit.reason));
  std::string why;
  for (const prediction::ScoreInfluence& influence : score.influences) {
    if (std::abs(influence.moved) < 0.01) break;
    why += fmt::format("{}{} {:+.2f}", why.empty() ? "" : ", ", influence.feature, influence.moved);
  }
  return why.empty() ? "all features are as usual" : why;
}

std::string FormatIterations(double iterations) {
  return std::isinf(iterations) ? "never" : report::FormatCount(static_cast<uint64_t>(std::llround(iterations)));
}

report::Document RenderScores(const std::vector<JobScore>& scores) {
  report::TextTable table({{"job", Align::kLeft},
                           {"epochs", Align::kRight},
                           {"score", Align::kRight, "", "how sure the model is that the end can be foreseen, 0 to 1"},
                           {"predictable", Align::kLeft},
                           {"left", Align::kRight, "iterations", "expected until the job ends"},
                           {"5 %", Align::kRight, "iterations"},
                           {"95 %", Align::kRight, "iterations", "fewer than so many are left in 95 % of such cases"},
                           {"why", Align::kLeft, "", "features that moved the score, most first"}});
  for (const JobScore& s : scores) {
    const auto left = [&](double prediction::RemainingIterations::*part) {
      return s.remaining ? FormatIterations(*s.remaining.*part) : std::string(report::kUnknown);
    };
    table.AddRow({s.job->description.name, report::FormatCount(s.job->epochs.size()), report::FormatFixed(s.score, 2),
                  s.is_predictable ? "yes" : "no", left(&prediction::RemainingIterations::expected),
                  left(&prediction::RemainingIterations::low), left(&prediction::RemainingIterations::high), Why(s)});
  }
  return table;
}

report::Document RenderInfluences(const JobScore& score) {
  report::TextTable table({{"feature", Align::kLeft},
                           {"value", Align::kRight},
                           {"usual", Align::kRight, "", "the median of the jobs in training"},
                           {"moved the score by", Align::kRight}});
  for (const prediction::ScoreInfluence& influence : score.influences) {
    table.AddRow({influence.feature, report::FormatFixed(influence.value, 3), report::FormatFixed(influence.usual, 3),
                  report::FormatSigned(influence.moved, 2)});
  }
  return "\n" + report::Document(std::move(table));
}

Json ToJson(const JobScore& score) {
  Json json = {{"job", score.job->description.name},
               {"epochs", score.job->epochs.size()},
               {"score", score.score},
               {"predictable", score.is_predictable},
               {"fit", score.fit.usable() ? Json("usable") : Json(Name(score.fit.reason))},
               {"why", Why(score)},
               {"remaining_iterations", nullptr},
               {"influences", Json::array()}};
  if (score.remaining) {
    json["remaining_iterations"] = {{"expected", report::NumberOrNull(score.remaining->expected)},
                                    {"low", report::NumberOrNull(score.remaining->low)},
                                    {"high", report::NumberOrNull(score.remaining->high)}};
  }
  for (const prediction::ScoreInfluence& influence : score.influences) {
    json["influences"].push_back({{"feature", influence.feature},
                                  {"value", influence.value},
                                  {"usual", influence.usual},
                                  {"moved", influence.moved}});
  }
  return json;
}

int Score(const PredictOptions& options) {
  auto files = OutputFiles::Prepare(options.printed);
  if (!files.ok()) return ReportError(files.status());
  const auto model = prediction::PredictabilityModel::Load(FindInputFile(options.model));
  if (!model.ok()) return ReportError(model.status());
  auto jobs = LoadJobs(options);
  if (!jobs.ok()) return ReportError(jobs.status());
  if (options.num_epochs > 0) {
    for (prediction::JobRecord& job : jobs->jobs) {
      job.epochs.resize(std::min<size_t>(job.epochs.size(), options.num_epochs));
    }
  }
  std::vector<JobScore> scores;
  for (const prediction::JobRecord& job : jobs->jobs) {
    if (options.job.empty() || job.description.name == options.job) scores.push_back(ScoreJob(*model, job));
  }
  if (scores.empty()) {
    return ReportError(
        NotFound(fmt::format("{}: there is no job '{}'; it has {}, such as '{}'", options.jobs, options.job,
                             report::FormatCount(jobs->jobs.size(), "job"), jobs->jobs.front().description.name)));
  }
  files->Print(RenderScores(scores));
  if (!options.job.empty()) files->Print(RenderInfluences(scores.front()));
  Json json = Json::array();
  for (const JobScore& score : scores) json.push_back(ToJson(score));
  files->WriteJson("JSON", [&] { return report::Dump(json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

void AddJobFiles(CLI::App* command, PredictOptions* options) {
  command->add_option("--jobs", options->jobs, "Jobs (CSV; see docs/internals/modules/prediction.md)")
      ->type_name("FILE")
      ->required();
  command->add_option("--curves", options->curves, "Their losses (CSV: job,iteration,loss[,iteration_time_s])")
      ->type_name("FILE")
      ->required();
  AddOutputOptions(command, &options->printed, "Write the result as JSON to FILE; - prints only JSON");
}

}  // namespace

void AddPredictCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* predict =
      app.add_subcommand("predict", "Predict which jobs are predictable, when they end and how fast they train.");
  predict->footer("Example: fairlead predict generate -o out/jobs");
  predict->require_subcommand(1);
  auto options = std::make_shared<PredictOptions>();

  CLI::App* generate =
      predict->add_subcommand("generate", "Generate synthetic jobs with loss curves of several kinds.");
  generate->add_option("--jobs", options->num_jobs, "How many")->check(CLI::Range(1, 100'000))->capture_default_str();
  generate->add_option("--seed", options->seed, "Seed")->capture_default_str();
  generate->add_option("-o,--output", options->output, "Folder for jobs.csv and curves.csv")
      ->type_name("FOLDER")
      ->required();
  generate->footer("Example: fairlead predict generate -o out/jobs");
  generate->callback([options, invocation] { invocation->exit_code = Generate(*options); });

  CLI::App* train = predict->add_subcommand("train", "Train a classifier of predictable jobs on finished ones.");
  AddJobFiles(train, options.get());
  train->add_option("-o,--output", options->output, "Model to write")->type_name("FILE")->required();
  train->add_option("--learner", options->learner, "Learner; best: the one that does best on held-out jobs")
      ->check(OneOf({"best", "knn", "logistic", "forest", "svm", "mlp"}))
      ->capture_default_str();
  train->add_option("--seed", options->seed, "Seed")->capture_default_str();
  train->add_option("--stride", options->stride, "Train on every n-th epoch of each job; 1 is slowest")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  train->footer(
      "Example: fairlead predict train --jobs out/jobs/jobs.csv --curves out/jobs/curves.csv -o out/model.json");
  train->callback([options, invocation] { invocation->exit_code = Train(*options); });

  CLI::App* score =
      predict->add_subcommand("score", "Score running jobs: which are predictable, why, and how much work is left.");
  AddJobFiles(score, options.get());
  score->add_option("--model", options->model, "Model written by `predict train`")->type_name("FILE")->required();
  score->add_option("--job", options->job, "Only this job, with everything that influenced its score");
  score->add_option("--epochs", options->num_epochs, "Use only the first N epochs, as if the jobs had got no further")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000));
  score->footer(
      "Example: fairlead predict score --model out/model.json --jobs out/jobs/jobs.csv --curves out/jobs/curves.csv");
  score->callback([options, invocation] { invocation->exit_code = Score(*options); });

  AddPredictSpeedCommand(*predict, invocation);
}

}  // namespace fairlead::cli
