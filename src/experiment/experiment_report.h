// Results of experiments for people at a terminal, for programs, and as one page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "experiment/experiment_runner.h"
#include "report/document.h"
#include "report/json_value.h"

namespace fairlead::experiment {

// A row's number: four significant digits, no exponent, kUnknown for what is missing.
std::string FormatValue(std::optional<double> value);
// ">= 0.97", "0.2 .. 0.3", "<= 0.03"; empty without a band.
std::string FormatBand(const PaperRow& row);

// Heading, table "paper | ours | inside band?" and notes, at most report::kTextWidth columns.
report::Document RenderText(const ExperimentResult& result);

//   {"experiment", "seed", "reduced", "wall_s",
//    "rows": [{"name", "unit", "paper", "ours", "low", "high", "inside", "note"}]}
// Whatever is missing is null.
report::Json ToJson(const ExperimentResult& result);

// One self-contained page: a section for each result, with its table, figures and notes.
// Args: `command` is shown under "How to reproduce".
std::string RenderHtml(std::span<const ExperimentResult> results, const std::string& command);

}  // namespace fairlead::experiment
