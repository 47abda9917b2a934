// The frame of a page: head, style sheet and body; and how one figure stands in it.
//
// Self-contained: no script, no font, no image from elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "report/page_figures.h"

namespace fairlead::report {

// Args: `title` is plain text, `body` is markup.
std::string RenderPage(std::string_view title, std::string_view body);

// A figure with its caption, under a heading of tag `heading_tag` ("h3"; empty: without).
std::string RenderFigure(const PageFigure& figure, std::string_view heading_tag);

}  // namespace fairlead::report
