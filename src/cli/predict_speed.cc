#include "cli/predict_speed.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/output_files.h"
#include "prediction/speed_model.h"
#include "prediction/speed_table.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using prediction::SpeedTerm;
using report::Align;
using report::Json;

constexpr size_t kNumFolds = 5;

struct SpeedOptions {
  std::string table;
  double servers = 0;
  double workers = 0;
  OutputOptions output;
  uint64_t seed = 1;
};

struct FittedModel {
  std::string name;
  prediction::SpeedModel model;
  prediction::RelativeError error;
  std::optional<prediction::RelativeError> held_out;  // none: too few measurements
  std::optional<Seconds> predicted;                   // of the configuration asked for
};

Result<FittedModel> Fit(const std::string& name, const std::vector<prediction::SpeedObservation>& observations,
                        const SpeedOptions& options) {
  FittedModel fitted;
  fitted.name = name;
  auto model = prediction::FitSpeedModel(observations);
  if (!model.ok()) return InvalidArgument(fmt::format("{}: {}: {}", options.table, name, model.status().message()));
  fitted.model = *model;
  fitted.error = ErrorOn(fitted.model, observations);
  const auto held_out = prediction::CrossValidate(observations, {}, kNumFolds, options.seed);
  if (held_out.ok()) fitted.held_out = *held_out;
  if (options.servers > 0) {
    prediction::ServerConfiguration asked = observations.front().configuration;
    asked.gpus = asked.gpus / asked.workers * options.workers;
    asked.servers = options.servers;
    asked.workers = options.workers;
    fitted.predicted = fitted.model.IterationTime(asked);
  }
  return fitted;
}

report::Document RenderErrors(const std::vector<FittedModel>& models, const SpeedOptions& options) {
  std::vector<report::TextColumn> columns = {
      {"model", Align::kLeft},
      {"used", Align::kRight, "measurements"},
      {"skipped", Align::kRight, "measurements", "rows without a usable time"},
      {"median", Align::kRight, "fitted error", "relative error on the measurements that were fitted"},
      {"mean", Align::kRight, "fitted error"},
      {"median", Align::kRight, "unseen error", "on measurements that were left out of the fit"},
      {"mean", Align::kRight, "unseen error"}};
  if (options.servers > 0) {
    columns.push_back({"iteration", Align::kRight, "", "predicted with the servers and workers that you asked for"});
  }
  report::TextTable table(columns);
  for (const FittedModel& m : models) {
    const auto held_out = [&](double prediction::RelativeError::*part) {
      return m.held_out ? report::FormatPercent(*m.held_out.*part) : std::string(report::kUnknown);
    };
    std::vector<std::string> cells = {m.name,
                                      report::FormatCount(m.model.num_used),
                                      report::FormatCount(m.model.num_skipped),
                                      report::FormatPercent(m.error.median),
                                      report::FormatPercent(m.error.mean),
                                      held_out(&prediction::RelativeError::median),
                                      held_out(&prediction::RelativeError::mean)};
    if (m.predicted) cells.push_back(report::FormatDuration(m.predicted->value()));
    table.AddRow(std::move(cells));
  }
  return report::Document(std::move(table)) + "\n";
}

report::Document RenderCoefficients(const std::vector<FittedModel>& models) {
  // In the order of SpeedTerm.
  const std::vector<report::TextColumn> columns = {{"model", Align::kLeft},
                                                   {"per sample", Align::kRight, "compute"},
                                                   {"fixed", Align::kRight, "compute"},
                                                   {"push, pull", Align::kRight, "", "gradients out, parameters in"},
                                                   {"update", Align::kRight, "", "of parameters, on the servers"},
                                                   {"worker", Align::kRight, "overhead per"},
                                                   {"server", Align::kRight, "overhead per"},
                                                   {"GPU", Align::kRight, "overhead per"}};
  report::TextTable table(columns);
  for (const FittedModel& m : models) {
    std::vector<std::string> cells = {m.name};
    for (size_t t = 0; t < prediction::kNumSpeedTerms; ++t) {
      cells.push_back(m.model.is_identifiable[t] ? report::FormatFixed(m.model.coefficients[t], 4)
                                                 : std::string(report::kUnknown));
    }
    table.AddRow(std::move(cells));
  }
  return fmt::format(
             "Seconds of an iteration per unit of each term; {}: the measurements can't tell it from another.\n\n",
             report::kUnknown) +
         report::Document(std::move(table));
}

Json ToJson(const FittedModel& m) {
  const auto error = [](const prediction::RelativeError& e) {
    return Json{{"median", e.median}, {"mean", e.mean}, {"max", report::NumberOrNull(e.max)}};
  };
  Json terms = Json::array();
  for (size_t t = 0; t < prediction::kNumSpeedTerms; ++t) {
    terms.push_back({{"term", Name(static_cast<SpeedTerm>(t))},
                     {"coefficient_s", m.model.is_identifiable[t] ? Json(m.model.coefficients[t]) : Json()}});
  }
  return {{"model", m.name},
          {"used", m.model.num_used},
          {"skipped", m.model.num_skipped},
          {"error", error(m.error)},
          {"held_out_error", m.held_out ? error(*m.held_out) : Json()},
          {"iteration_s", m.predicted ? report::NumberOrNull(m.predicted->value()) : Json()},
          {"terms", std::move(terms)}};
}

int PredictSpeed(const SpeedOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto table = prediction::LoadSpeedTable(FindInputFile(options.table));
  if (!table.ok()) return ReportError(table.status());
  std::vector<FittedModel> models;
  for (const auto& [name, observations] : *table) {
    auto fitted = Fit(name, observations, options);
    if (!fitted.ok()) return ReportError(fitted.status());
    models.push_back(std::move(*fitted));
  }
  files->Print(RenderErrors(models, options) + RenderCoefficients(models));
  Json json = Json::array();
  for (const FittedModel& m : models) json.push_back(ToJson(m));
  files->WriteJson("JSON", [&] { return report::Dump(json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

}  // namespace

void AddPredictSpeedCommand(CLI::App& predict, Invocation* invocation) {
  auto options = std::make_shared<SpeedOptions>();
  CLI::App* speed =
      predict.add_subcommand("speed", "Fit a speed model of jobs with parameter servers to measurements.");
  speed
      ->add_option("FILE", options->table,
                   "CSV: model,global_batch,num_ps,num_workers,step_time_s[,num_gpus,cores_per_ps,cores_per_worker]")
      ->required();
  CLI::Option* servers = speed->add_option("--ps", options->servers, "Also predict with this many parameter servers")
                             ->check(CLI::Range(1, 1'000'000));
  CLI::Option* workers =
      speed->add_option("--workers", options->workers, "... and this many workers")->check(CLI::Range(1, 1'000'000));
  servers->needs(workers);
  workers->needs(servers);
  speed->add_option("--seed", options->seed, "Seed of the folds")->capture_default_str();
  AddOutputOptions(speed, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  speed->footer("Example: fairlead predict speed speeds.csv --ps 4 --workers 8");
  speed->callback([options, invocation] { invocation->exit_code = PredictSpeed(*options); });
}

}  // namespace fairlead::cli
