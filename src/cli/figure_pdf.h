// A figure as a page of PDF, for papers: vectors and text, with the colours of the page in light, by librsvg's program
// rsvg-convert. Its libraries (Pango, GLib, …) would double the time that any command takes to start.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::cli {

// Args: svg: of a figure of a page. Same figure, fonts and libraries: same bytes. Text stays text, and its fonts are in
// the file. Errors: kUnavailable: rsvg-convert is not installed, or can't draw it: says why. Cost: 70 ms.
Result<std::string> RenderPdf(std::string_view svg);

}  // namespace fairlead::cli
