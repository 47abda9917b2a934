// Runs one experiment and puts its numbers beside the paper's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiment/paper_table.h"

namespace fairlead::experiment {

struct ResultRow {
  PaperRow published;
  std::optional<double> ours;  // nothing: not computed (the experiment was stopped), or could not be found

  // Whether ours lies within the band, ends included; nothing where there is no band or no number of ours.
  std::optional<bool> inside() const;
};

struct ExperimentResult {
  std::string name;
  std::string title;
  std::string source;
  uint64_t seed = 0;
  bool is_reduced = false;
  bool is_partial = false;
  bool is_kept = false;  // of an earlier run
  double wall_s = 0;
  std::string answer;           // empty: none
  std::vector<ResultRow> rows;  // in the order of the paper's table
  std::vector<ResultTable> tables;
  std::vector<report::PageFigure> figures;
  std::vector<std::string> notes;
};

// Joins the two by row name.
// Errors: kInternal when a row of the table has no value, or a value no row, or a row two values: our own mistake. Rows
// of a partial outcome may lack values.
Result<std::vector<ResultRow>> JoinRows(const PaperTable& paper, const Outcome& outcome);

struct RunOptions {
  bool reduced = false;
  std::optional<uint64_t> seed = {};  // nothing: that of paper.yaml
  uint32_t num_draws = 0;             // 0 = the experiment's own; ignored where it has none
  uint32_t num_threads = 0;           // 0 = one per processor
  // Where outcomes are kept, and taken from where they are there (outcome_store.h); empty: nowhere.
  std::string keep_folder = {};
};

// Errors: those of the experiment, of its paper.yaml, of JoinRows and of keeping the outcome, each naming the
// experiment.
Result<ExperimentResult> RunExperiment(const Experiment& experiment, const RunOptions& options,
                                       const std::atomic<bool>& stop, const std::function<void(double)>& progress);

// The parsed paper.yaml.
Result<PaperTable> PaperTableOf(const Experiment& experiment);

}  // namespace fairlead::experiment
