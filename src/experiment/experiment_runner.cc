#include "experiment/experiment_runner.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "experiment/outcome_store.h"

namespace fairlead::experiment {
namespace {

Status Named(const Experiment& experiment, const Status& status) {
  return {status.code(), fmt::format("experiment {}: {}", experiment.name, status.message())};
}

struct FoundOutcome {
  KeptOutcome kept;
  bool is_old = false;
};

Result<FoundOutcome> FindOrRun(const Experiment& experiment, const RunContext& context, const std::string& folder) {
  const OutcomeStore store(folder);
  const OutcomeKey key{std::string(experiment.name), context.seed, context.reduced, context.num_draws};
  if (!folder.empty()) {
    if (auto kept = store.Find(key)) return FoundOutcome{std::move(*kept), true};
  }
  const auto begin = std::chrono::steady_clock::now();
  FL_ASSIGN_OR_RETURN(Outcome outcome, experiment.run(context));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  FoundOutcome found{{std::move(outcome), wall.count()}, false};
  if (!folder.empty() && !found.kept.outcome.is_partial) FL_RETURN_IF_ERROR(store.Keep(key, found.kept));
  return found;
}

}  // namespace

std::optional<bool> ResultRow::inside() const {
  if (!published.has_band() || !ours) return std::nullopt;
  return (!published.low || *ours >= *published.low) && (!published.high || *ours <= *published.high);
}

Result<std::vector<ResultRow>> JoinRows(const PaperTable& paper, const Outcome& outcome) {
  std::map<std::string, double> values;
  for (const auto& [row, value] : outcome.values) {
    if (!values.try_emplace(row, value).second) return Internal(fmt::format("row '{}' was set twice", row));
  }
  std::vector<ResultRow> rows;
  for (const PaperRow& published : paper.rows) {
    ResultRow& row = rows.emplace_back(ResultRow{published, std::nullopt});
    const auto found = values.find(published.name);
    if (found == values.end()) {
      if (outcome.is_partial) continue;
      return Internal(fmt::format("row '{}' of paper.yaml was not set by the code", published.name));
    }
    if (std::isfinite(found->second)) row.ours = found->second;
    values.erase(found);
  }
  if (values.empty()) return rows;
  return Internal(fmt::format("row '{}' was set, but paper.yaml has none of that name", values.begin()->first));
}

Result<PaperTable> PaperTableOf(const Experiment& experiment) {
  return ParsePaperTable(experiment.paper_yaml, fmt::format("experiments/{}/paper.yaml", experiment.name));
}

Result<ExperimentResult> RunExperiment(const Experiment& experiment, const RunOptions& options,
                                       const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
  auto paper = PaperTableOf(experiment);
  if (!paper.ok()) return Named(experiment, paper.status());
  const RunContext context{.reduced = options.reduced,
                           .seed = options.seed.value_or(paper->seed),
                           .num_draws = experiment.has_draws ? options.num_draws : 0,
                           .num_threads = options.num_threads,
                           .stop = &stop,
                           .progress = progress};
  auto found = FindOrRun(experiment, context, options.keep_folder);
  if (!found.ok()) return Named(experiment, found.status());
  Outcome& outcome = found->kept.outcome;
  auto rows = JoinRows(*paper, outcome);
  if (!rows.ok()) return Named(experiment, rows.status());
  return ExperimentResult{.name = std::string(experiment.name),
                          .title = paper->title,
                          .source = paper->source,
                          .seed = context.seed,
                          .is_reduced = options.reduced,
                          .is_partial = outcome.is_partial,
                          .is_kept = found->is_old,
                          .wall_s = found->kept.wall_s,
                          .answer = std::move(outcome.answer),
                          .rows = std::move(*rows),
                          .tables = std::move(outcome.tables),
                          .figures = std::move(outcome.figures),
                          .notes = std::move(outcome.notes)};
}

}  // namespace fairlead::experiment
