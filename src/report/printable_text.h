// How names that users chose become safe to print, and how much room they take on a terminal.
//
// Job, model, link and policy names come from files of strangers. A name may hold bytes that are no UTF-8, terminal
// escapes, line breaks, or characters that turn the reading direction; printed raw they break a table or lie about it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlead::report {

// Valid UTF-8 on one line: broken bytes, control characters and direction overrides become U+FFFD; line breaks and
// tabs, a space.
std::string CleanText(std::string_view text);

// Terminal columns of clean UTF-8: East Asian wide characters and emoji take two, combining marks none.
size_t DisplayWidth(std::string_view text);

// The text if it fits `width_max` columns, else its start and "…". Never cuts a character; never wider than
// `width_max`.
std::string TruncateToWidth(std::string_view text, size_t width_max);

// Spaces added on one side up to `width` columns; wider text is returned as it is.
std::string PadLeft(std::string_view text, size_t width);
std::string PadRight(std::string_view text, size_t width);

// Breaks text at spaces into lines of at most `width_max` columns, `indent` spaces before every line but the first; a
// longer word is truncated. Ends with a line break.
std::string WrapText(std::string_view text, size_t width_max, size_t indent);

}  // namespace fairlead::report
