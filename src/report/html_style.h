// How the page looks: fonts, spacing, and the colours of light screens, dark screens and paper.
#pragma once

#include <string_view>

namespace fairlead::report {

// A CSS style sheet without external references; the classes are those of html_report.cc and the figures. Colours:
// series after Okabe and Ito (distinguishable with every common colour blindness); heat by rising or falling lightness
// in one hue, so that it also reads in grey.
std::string_view PageStyle();

}  // namespace fairlead::report
