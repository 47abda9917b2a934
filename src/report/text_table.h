// Tables for a terminal: aligned columns that never exceed a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::report {

// Paragraphs of the text reports fit this many columns.
inline constexpr size_t kTextWidth = 100;

// How wide tables on standard output may be: the environment variable COLUMNS; else as wide as the terminal, at least
// kTextWidth; without limit in a file or a pipe, where the reader needs whole names.
size_t OutputWidth();

// From now on OutputWidth() has no limit, whatever standard output is: a format for other programs was asked for, in
// which no name may be cut.
void LiftOutputWidth();

// A name within a sentence or a cell: cleaned (CleanText), and shortened to `width_max` columns where OutputWidth() is
// limited.
std::string ShownName(std::string_view name, size_t width_max);

enum class Align {
  kLeft,   // names
  kRight,  // numbers
};

struct TextColumn {
  std::string heading;
  Align align = Align::kLeft;
  // Neighbouring columns of one group share a heading line; empty: none.
  std::string group = {};
  // A short phrase for a reader new to the heading: "share of GPU time spent computing". A Document prints it under the
  // table. Empty: the heading speaks for itself.
  std::string meaning = {};
};

// Cells are cleaned (CleanText). Left-aligned columns give way where the table would be too wide: the widest first,
// down to six columns; after that every line is cut.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns);
  // Args: one cell per column; missing cells are empty, surplus ones are a broken invariant.
  void AddRow(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  const std::vector<TextColumn>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Group line (where there is one), headings, a rule, the rows; each line ends with a line break and has no trailing
  // space.
  std::string Render(size_t width_max = OutputWidth()) const;

 private:
  std::vector<size_t> FitWidths(size_t width_max) const;
  std::string GroupLine(const std::vector<size_t>& widths) const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fairlead::report
