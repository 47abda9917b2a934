#include "report/document.h"

#include <algorithm>
#include <array>

#include "report/markdown_text.h"
#include "report/number_format.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr std::array<std::string_view, 4> kFormatNames = {"table", "json", "csv", "markdown"};
constexpr size_t kLegendIndent = 2;

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// Where there is no line above the headings that could name the group.
std::string FullHeading(const TextColumn& column) {
  std::string heading = Trimmed(CleanText(column.heading));
  if (column.group.empty()) return heading;
  return heading.empty() ? CleanText(column.group) : CleanText(column.group) + ": " + heading;
}

std::string CsvField(const std::string& cell) {
  std::string field = Trimmed(cell);
  if (field == kUnknown) return "";
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t c = 0; c < cells.size(); ++c) line += (c == 0 ? "" : ",") + CsvField(cells[c]);
  // An empty line would end the table.
  if (line.empty()) line = "\"\"";
  return line + '\n';
}

std::string CsvTable(const TextTable& table) {
  std::vector<std::string> headings;
  for (const TextColumn& column : table.columns()) headings.push_back(FullHeading(column));
  std::string text = CsvLine(headings);
  for (const auto& row : table.rows()) text += CsvLine(row);
  return text;
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + MarkdownCell(Trimmed(cell)) + " |";
  return line + '\n';
}

std::string MarkdownTable(const TextTable& table) {
  std::vector<std::string> headings;
  std::string rule = "|";
  for (const TextColumn& column : table.columns()) {
    headings.push_back(FullHeading(column));
    rule += column.align == Align::kRight ? " ---: |" : " --- |";
  }
  std::string text = MarkdownRow(headings) + rule + '\n';
  for (const auto& row : table.rows()) text += MarkdownRow(row);
  return text;
}

// WrapText() breaks a line only where the next word does not fit.
bool IsWrapped(std::string_view line, std::string_view next) {
  const size_t width = DisplayWidth(line);
  const std::string_view word = next.substr(0, next.find(' '));
  return width <= kTextWidth && width + 1 + DisplayWidth(word) > kTextWidth;
}

// The paragraphs of text that was laid out for a terminal.
std::vector<std::string> SplitParagraphs(std::string_view text) {
  std::vector<std::string> paragraphs;
  std::string_view before;  // the line before, of the same paragraph; empty: none
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string words = Trimmed(line);
    if (words.empty()) {
      before = {};
      continue;
    }
    if (!before.empty() && IsWrapped(before, words)) {
      paragraphs.back() += ' ' + words;
    } else {
      paragraphs.push_back(words);
    }
    before = line;
  }
  return paragraphs;
}

}  // namespace

std::span<const std::string_view> OutputFormatNames() { return kFormatNames; }

Document::Document(std::string text) {
  if (!text.empty()) parts_.emplace_back(std::move(text));
}

Document::Document(TextTable table) { parts_.emplace_back(std::move(table)); }

Document& Document::operator+=(Document other) {
  for (auto& part : other.parts_) {
    auto* text = std::get_if<std::string>(&part);
    auto* last = parts_.empty() ? nullptr : std::get_if<std::string>(&parts_.back());
    if (text != nullptr && last != nullptr) {
      *last += *text;
    } else {
      parts_.push_back(std::move(part));
    }
  }
  return *this;
}

std::string Document::Render(OutputFormat format, size_t width_max) const {
  return DocumentRenderer(format, width_max).Render(*this);
}

std::string DocumentRenderer::Render(const Document& document) {
  if (format_ == OutputFormat::kJson) return "";
  std::string text;
  for (const auto& part : document.parts_) {
    const auto* table = std::get_if<TextTable>(&part);
    text += table != nullptr ? RenderTable(*table) : RenderText(std::get<std::string>(part));
  }
  return text;
}

std::string DocumentRenderer::RenderText(const std::string& text) {
  if (format_ == OutputFormat::kTable) return text;
  if (format_ == OutputFormat::kCsv) return "";
  std::string rendered;
  for (const std::string& paragraph : SplitParagraphs(text)) rendered += Separator() + MarkdownLine(paragraph) + '\n';
  return rendered;
}

std::string DocumentRenderer::RenderTable(const TextTable& table) {
  if (format_ == OutputFormat::kCsv) return Separator() + CsvTable(table);
  const std::string legend = Legend(table);
  if (format_ == OutputFormat::kMarkdown) {
    std::string text = Separator() + MarkdownTable(table);
    return legend.empty() ? text : text + Separator() + MarkdownLine(legend) + '\n';
  }
  std::string text = table.Render(width_max_);
  if (legend.empty()) return text;
  const size_t width = std::min(kTextWidth, std::max(width_max_, 2 * kLegendIndent));
  return text + std::string(kLegendIndent, ' ') + WrapText(legend, width - kLegendIndent, kLegendIndent);
}

std::string DocumentRenderer::Legend(const TextTable& table) {
  const auto& columns = table.columns();
  std::string legend;
  for (const TextColumn& column : columns) {
    if (column.meaning.empty()) continue;
    const auto same = std::ranges::count(columns, column.heading, &TextColumn::heading);
    std::string name = Trimmed(CleanText(column.heading));
    if (same > 1 && !column.group.empty()) name += " (" + CleanText(column.group) + ")";
    const std::string entry = name + ": " + column.meaning + ".";
    if (explained_.insert(entry).second) legend += (legend.empty() ? "" : " ") + entry;
  }
  return legend;
}

std::string DocumentRenderer::Separator() { return std::exchange(has_printed_, true) ? "\n" : ""; }

}  // namespace fairlead::report
