// What an experiment is: a name, what a paper published about it, and a function that computes our own numbers.
//
// The paper's numbers are data (paper_table.h) and never reach the function, so that nothing can be tuned towards them
// in code. The runner (experiment_runner.h) joins both by row name.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "report/html_page.h"

namespace fairlead::experiment {

// How an experiment is to be run.
struct RunContext {
  // Fewer cases, seeds or seconds, for a quick look; the experiment's notes say which.
  bool reduced = false;
  uint64_t seed = 1;
  uint32_t num_draws = 0;    // of chance, in experiments that have Experiment::has_draws; 0 = the experiment's own
  uint32_t num_threads = 0;  // 0 = one per processor; results don't depend on it
  // Not null. Turns true when the user wants no more: Run returns soon, with what it has.
  const std::atomic<bool>* stop = nullptr;
  // Called from any thread, one call at a time: fraction that is done, 0..1. May be empty.
  std::function<void(double)> progress;

  bool should_stop() const { return stop->load(std::memory_order_relaxed); }
  void Report(double fraction) const {
    if (progress) progress(fraction);
  }
};

// More numbers than rows beside a paper's can hold: one line for each case.
struct ResultTable {
  // An empty text, or a number that is not finite, is unknown.
  using Cell = std::variant<std::string, double>;

  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> lines;  // [line][column]
  // Too long for a terminal: on the page and in JSON only.
  bool is_long = false;
};

// What an experiment found.
struct Outcome {
  std::string answer;                                  // first of all: what came out, one paragraph; may be empty
  std::vector<std::pair<std::string, double>> values;  // row name -> ours; NaN = could not be found
  std::vector<ResultTable> tables;
  std::vector<report::PageFigure> figures;
  std::vector<std::string> notes;  // plain text: what was seen, what differs
  // Stopped before its end: values may be missing, or cover only a part of the cases.
  bool is_partial = false;

  void Set(std::string row, double value) { values.emplace_back(std::move(row), value); }
};

struct Experiment {
  std::string_view name;        // what users type: "crux-examples"
  std::string_view paper_yaml;  // text of its paper.yaml, see paper_table.h
  // Pure but for threads: same context, same outcome. Errors: what the experiment can't be run without is missing or
  // wrong.
  Result<Outcome> (*run)(const RunContext& context) = nullptr;
  bool has_draws = false;  // heeds RunContext::num_draws
};

}  // namespace fairlead::experiment
