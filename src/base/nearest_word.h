// Which of the known words a mistyped one may mean.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairlead {

// The candidate with the fewest letters inserted, left out, changed or swapped, if that is at most a third of the
// letters of the longer of the two (one is always allowed); the first of equals; else "".
std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'candidate'?", or "".
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

// "unknown traffic policy 'curx' (did you mean 'crux'?); known: ecmp, crux". Args: what: the kind of thing that has the
// name.
std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string> known);
std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string_view> known);

}  // namespace fairlead
