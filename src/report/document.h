// What a command has to say: paragraphs and tables in their order, and how they look in each format that a user can ask
// for (`--format`).
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/text_table.h"

namespace fairlead::report {

enum class OutputFormat {
  kTable,     // for a terminal: wrapped paragraphs and aligned columns
  kJson,      // what the command writes with --json; a Document has nothing of it
  kCsv,       // the tables only
  kMarkdown,  // as GitHub reads it
};

// "table", "json", "csv", "markdown": in the order of the enumerators.
std::span<const std::string_view> OutputFormatNames();

// Text that is added runs on where the text before it ends: line breaks are the caller's.
class Document {
 public:
  Document() = default;
  Document(std::string text);
  Document(const char* text) : Document(std::string(text)) {}
  Document(TextTable table);

  Document& operator+=(Document other);
  friend Document operator+(Document left, Document right) { return std::move(left += std::move(right)); }

  // Neither text nor a table.
  bool empty() const { return parts_.empty(); }

  // The document alone; see DocumentRenderer.
  std::string Render(OutputFormat format = OutputFormat::kTable, size_t width_max = OutputWidth()) const;

 private:
  friend class DocumentRenderer;

  std::vector<std::variant<std::string, TextTable>> parts_;
};

// Renders documents that are printed one after another as if they were one: a meaning of a column is under the first
// table that has it, and tables stay separate.
//
//   table     text as it was added; tables fit the width, with what their columns mean in a paragraph beneath.
//   markdown  each line of text is a paragraph (lines that WrapText() broke are joined) without indentation, with what
//             would become markup escaped; GitHub tables, "group: heading", nothing cut; what columns mean.
//   csv       each table: a line of headings ("group: heading") and the rows, quoted as RFC 4180 says, lines ending
//             with LF; an empty line between tables. Cells without indentation, nothing cut; kUnknown is an empty
//             cell.
//   json      nothing.
class DocumentRenderer {
 public:
  explicit DocumentRenderer(OutputFormat format, size_t width_max = OutputWidth())
      : format_(format), width_max_(width_max) {}

  // What is to be printed behind what earlier calls returned.
  std::string Render(const Document& document);

 private:
  std::string RenderText(const std::string& text);
  std::string RenderTable(const TextTable& table);
  // "busy: share of … . level: … .", without meanings that were given before; empty: nothing new.
  std::string Legend(const TextTable& table);
  // Markdown and CSV: text between blocks.
  std::string Separator();

  OutputFormat format_;
  size_t width_max_;
  bool has_printed_ = false;
  std::set<std::string> explained_;  // entries of legends
};

}  // namespace fairlead::report
