#include "experiment/experiment_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::experiment {
namespace {

std::string_view InsideWord(const ResultRow& row) {
  const std::optional<bool> inside = row.inside();
  return !inside ? "" : *inside ? "yes" : "NO";
}

report::Json NumberOrNull(std::optional<double> value) {
  return value ? report::NumberOrNull(*value) : report::Json(nullptr);
}

report::Json RowToJson(const ResultRow& row) {
  const std::optional<bool> inside = row.inside();
  return {{"name", row.published.name},
          {"unit", row.published.unit},
          {"paper", NumberOrNull(row.published.paper)},
          {"ours", NumberOrNull(row.ours)},
          {"low", NumberOrNull(row.published.low)},
          {"high", NumberOrNull(row.published.high)},
          {"inside", inside ? report::Json(*inside) : report::Json(nullptr)},
          {"note", report::NameOrNull(row.published.note)}};
}

// The notes of rows, each once, in the order of the rows that they belong to.
std::vector<std::string> CollectNotes(const ExperimentResult& result) {
  std::vector<std::string> notes;
  for (const ResultRow& row : result.rows) {
    const std::string& note = row.published.note;
    if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
  return notes;
}

// "[2]", or nothing for a row without a note.
std::string NoteMark(const ResultRow& row, const std::vector<std::string>& notes) {
  const auto found = std::ranges::find(notes, row.published.note);
  return found == notes.end() ? "" : fmt::format("[{}]", found - notes.begin() + 1);
}

report::TextTable MakeTable(const ExperimentResult& result, const std::vector<std::string>& notes) {
  using report::Align;
  report::TextTable table({{"row", Align::kLeft},
                           {"unit", Align::kLeft},
                           {"paper", Align::kRight, "", "what was published"},
                           {"ours", Align::kRight, "", "what this run found"},
                           {"band", Align::kLeft, "", "where our number has to lie to count as reproduced"},
                           {"inside band?", Align::kLeft},
                           {"note", Align::kRight}});
  for (const ResultRow& row : result.rows) {
    table.AddRow({row.published.name, row.published.unit, FormatValue(row.published.paper), FormatValue(row.ours),
                  FormatBand(row.published), std::string(InsideWord(row)), NoteMark(row, notes)});
  }
  return table;
}

report::Document TableText(const ResultTable& table) {
  std::vector<report::TextColumn> columns;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const bool is_number = !table.lines.empty() && std::holds_alternative<double>(table.lines.front()[c]);
    columns.push_back({table.columns[c], is_number ? report::Align::kRight : report::Align::kLeft});
  }
  report::TextTable text(std::move(columns));
  for (const auto& line : table.lines) {
    std::vector<std::string> cells;
    for (const ResultTable::Cell& cell : line) cells.push_back(FormatCell(cell));
    text.AddRow(std::move(cells));
  }
  return report::Document(fmt::format("\n{}\n", table.title)) + std::move(text);
}

report::Json TableToJson(const ResultTable& table) {
  report::Json lines = report::Json::array();
  for (const auto& line : table.lines) {
    report::Json cells = report::Json::array();
    for (const ResultTable::Cell& cell : line) {
      const auto* text = std::get_if<std::string>(&cell);
      cells.push_back(text != nullptr ? report::NameOrNull(*text) : report::NumberOrNull(std::get<double>(cell)));
    }
    lines.push_back(std::move(cells));
  }
  return {{"title", table.title}, {"columns", table.columns}, {"lines", lines}};
}

}  // namespace

std::string FormatCell(const ResultTable::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? *text : FormatValue(std::get<double>(cell));
}

std::string FormatValue(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::string(report::kUnknown);
  const double size = std::abs(*value);
  const int digits = size == 0 ? 0 : std::clamp(3 - static_cast<int>(std::floor(std::log10(size))), 0, 5);
  std::string text = report::FormatFixed(*value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string FormatBand(const PaperRow& row) {
  if (row.low && row.high) return fmt::format("{} .. {}", FormatValue(row.low), FormatValue(row.high));
  if (row.low) return ">= " + FormatValue(row.low);
  return row.high ? "<= " + FormatValue(row.high) : "";
}

report::Document RenderText(const ExperimentResult& result) {
  report::Document text = report::WrapText(fmt::format("{}: {}", result.name, result.title), report::kTextWidth, 2);
  text += report::WrapText(result.source, report::kTextWidth, 0);
  text += fmt::format("seed {}{}, {}{}\n\n", result.seed, result.is_reduced ? ", reduced" : "",
                      report::FormatDuration(result.wall_s), result.is_kept ? ", kept from an earlier run" : "");
  if (result.is_partial) text += "PARTIAL: stopped before the end.\n\n";
  if (!result.answer.empty()) text += report::WrapText(result.answer, report::kTextWidth, 0) + "\n";
  const std::vector<std::string> notes = CollectNotes(result);
  text += MakeTable(result, notes);
  if (!notes.empty()) text += "\n";
  for (size_t i = 0; i < notes.size(); ++i) {
    text += report::WrapText(fmt::format("[{}] {}", i + 1, notes[i]), report::kTextWidth, 4);
  }
  for (const ResultTable& table : result.tables) {
    if (!table.is_long) text += TableText(table);
  }
  if (!result.notes.empty()) text += "\n";
  for (const std::string& note : result.notes) text += report::WrapText("* " + note, report::kTextWidth, 2);
  return text;
}

report::Json ToJson(const ExperimentResult& result) {
  report::Json rows = report::Json::array();
  for (const ResultRow& row : result.rows) rows.push_back(RowToJson(row));
  report::Json tables = report::Json::array();
  for (const ResultTable& table : result.tables) tables.push_back(TableToJson(table));
  return {{"experiment", result.name},
          {"seed", result.seed},
          {"reduced", result.is_reduced},
          {"wall_s", report::NumberOrNull(result.wall_s)},
          {"answer", report::NameOrNull(result.answer)},
          {"rows", rows},
          {"tables", tables}};
}

}  // namespace fairlead::experiment
