// The frame of a page: head, style sheet and body; and the place of a figure in it.
//
// Self-contained: no script, no font, no image from elsewhere. A Content-Security-Policy lets in one script, which the
// page carries (report_script.h); without it, and on paper, the page is the same text, tables and drawings.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::report {

// A drawn figure and the sentence under it.
struct PageFigure {
  std::string heading;  // plain text
  std::string svg;      // markup
  std::string caption;  // plain text
};

// Args: `title` is plain text, `body` is markup.
std::string RenderPage(std::string_view title, std::string_view body);

// A figure with its caption, under a heading of tag `heading_tag` ("h3"; empty: without).
std::string RenderFigure(const PageFigure& figure, std::string_view heading_tag);

// For ids and addresses within a page: "job=7%20gpt" of "job" and "7 gpt". Without blanks or anything that needs
// escaping.
std::string PlaceInPage(std::string_view kind, std::string_view name);

// Escaped text with typographic minus and multiplication signs: "-0.29" -> "−0.29", "1.41x" -> "1.41×", "->" -> "→".
std::string TypographicNumber(std::string_view text);

}  // namespace fairlead::report
