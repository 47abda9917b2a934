// A text as a POSIX shell takes it for one word.
#pragma once

#include <string>
#include <string_view>

namespace fairlead {

// As it is where the shell leaves it alone, quoted otherwise. Cost O(size).
std::string ShellWord(std::string_view text);

}  // namespace fairlead
