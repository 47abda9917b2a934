// How text that is not meant as markup stays text in Markdown.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::report {

// One line, escaped where GitHub's Markdown would make something else of it: emphasis, code, links, HTML; and at its
// start headings, quotes, rules and numbered lists. "- " and "* " at the start stay bullets.
std::string MarkdownLine(std::string_view text);

// The same for a cell of a table, where '|' ends the cell.
std::string MarkdownCell(std::string_view text);

}  // namespace fairlead::report
