// Which command do the words mean, and what was mistyped?
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace fairlead::cli {

// The candidate that `word` was probably meant to be: the least number of inserted, left out, changed and swapped
// letters, up to a third of the word's length; the first of equals. Empty where none is near.
std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'lab'?", or nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates);

// OK where the words that are no options lead to a command. Errors: kInvalidArgument: a word that is no command of its
// group, with the one that it may mean; a group without a command, with those that it has.
Status CheckCommandWords(const CLI::App& app, std::span<const std::string> words);

// What to add to a message about options that no command has: the option that the first of them may mean.
std::string DidYouMeanOption(const CLI::App& app, std::span<const std::string> words,
                             std::span<const std::string> unknown);

}  // namespace fairlead::cli
