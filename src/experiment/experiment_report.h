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

// Of a line of a table: a text as it is, a number as FormatValue.
std::string FormatCell(const ResultTable::Cell& cell);

// Heading, answer, table "paper | ours | inside band?", the other tables that are not long, and notes, at most
// report::kTextWidth columns.
report::Document RenderText(const ExperimentResult& result);

//   {"experiment", "seed", "reduced", "wall_s", "answer",
//    "rows": [{"name", "unit", "paper", "ours", "low", "high", "inside", "note"}],
//    "tables": [{"title", "columns", "lines"}]}
// Whatever is missing is null.
report::Json ToJson(const ExperimentResult& result);

// One self-contained page: a section for each result, with its answer, tables, figures and notes.
// Args: `command` is shown under "How to reproduce".
std::string RenderHtml(std::span<const ExperimentResult> results, const std::string& command);

}  // namespace fairlead::experiment
