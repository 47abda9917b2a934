// A figure as a page of PDF, for papers: vectors and text, with the colours of the page in light.
//
// Knows what figures are made of (svg_figure.h): lines, boxes, dots, paths, texts, styles of PageStyle() by classes.
// Text is in Helvetica, which each reader has; characters that it lacks are question marks. Tooltips are left out.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::report {

// Args: svg: of a figure of a page. Same figure, same bytes. Empty: it has no size. Cost: O(length of the figure).
std::string RenderPdf(std::string_view svg);

}  // namespace fairlead::report
