#include "report/text_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 6;  // of a column that gives way

std::atomic<bool> is_width_lifted = false;

std::string TrimRight(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

size_t TotalWidth(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (widths.size() - 1);
}

}  // namespace

size_t OutputWidth() {
  if (is_width_lifted.load(std::memory_order_relaxed)) return std::numeric_limits<size_t>::max();
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0) {
    return static_cast<size_t>(std::atoi(columns));
  }
  if (isatty(STDOUT_FILENO) == 0) return std::numeric_limits<size_t>::max();
  winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? std::max<size_t>(size.ws_col, kTextWidth) : kTextWidth;
}

void LiftOutputWidth() { is_width_lifted.store(true, std::memory_order_relaxed); }

std::string ShownName(std::string_view name, size_t width_max) {
  const bool is_limited = OutputWidth() != std::numeric_limits<size_t>::max();
  return is_limited ? TruncateToWidth(CleanText(name), width_max) : CleanText(name);
}

TextTable::TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) { FL_CHECK(!columns_.empty()); }

void TextTable::AddRow(std::vector<std::string> cells) {
  FL_CHECK(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = CleanText(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> TextTable::FitWidths(size_t width_max) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = DisplayWidth(columns_[c].heading);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[c]));
    widths.push_back(width);
  }
  while (TotalWidth(widths) > width_max) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      const bool gives_way = columns_[c].align == Align::kLeft && widths[c] > kNarrowest;
      if (gives_way && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string TextTable::Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::string cell = TruncateToWidth(cells[c], widths[c]);
    if (c > 0) line += std::string(kGap, ' ');
    line += columns_[c].align == Align::kLeft ? PadRight(cell, widths[c]) : PadLeft(cell, widths[c]);
  }
  return TrimRight(std::move(line));
}

std::string TextTable::GroupLine(const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t c = 0; c < columns_.size();) {
    size_t end = c + 1;
    size_t width = widths[c];
    for (; end < columns_.size() && !columns_[c].group.empty() && columns_[end].group == columns_[c].group; ++end) {
      width += kGap + widths[end];
    }
    if (c > 0) line += std::string(kGap, ' ');
    std::string title = TruncateToWidth(columns_[c].group, width);
    if (!title.empty()) {
      // "--- GPU utilization ---" spans the columns it names.
      const size_t dashes = width - DisplayWidth(title);
      const size_t left = dashes >= 4 ? dashes / 2 - 1 : 0;
      const size_t right = dashes >= 4 ? dashes - left - 2 : 0;
      if (dashes >= 4) title = std::string(left, '-') + ' ' + title + ' ' + std::string(right, '-');
    }
    line += PadRight(title, width);
    c = end;
  }
  return TrimRight(std::move(line));
}

std::string TextTable::Render(size_t width_max) const {
  const std::vector<size_t> widths = FitWidths(width_max);
  std::vector<std::string> lines;
  if (const std::string groups = GroupLine(widths); !groups.empty()) lines.push_back(groups);
  std::vector<std::string> headings;
  for (const TextColumn& column : columns_) headings.push_back(column.heading);
  lines.push_back(Line(headings, widths));
  lines.emplace_back(TotalWidth(widths), '-');
  for (const auto& row : rows_) lines.push_back(Line(row, widths));

  std::string text;
  for (const std::string& line : lines) text += TruncateToWidth(line, width_max) + '\n';
  return text;
}

}  // namespace fairlead::report
