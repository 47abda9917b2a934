// Whether bytes are text.
#pragma once

#include <string_view>

namespace fairlead {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing cut off. Empty text is.
bool IsUtf8(std::string_view text);

}  // namespace fairlead
