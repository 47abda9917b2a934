#include "cli/number_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

namespace fairlead::cli {

namespace {

constexpr double kLargest = 9e9;

// Empty: fine. What is no number at all is left to the library's own message.
std::string CheckNumber(std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return "";
  if (!std::isfinite(value) || std::abs(value) > kLargest) {
    return fmt::format("expected a finite number of at most {:g}, found {}", kLargest, text);
  }
  if (value == 0) text = "0";
  return "";
}

}  // namespace

void CheckNumberOptions(CLI::App* app) {
  // The library names the type of an option in its help, first of all.
  for (CLI::Option* option : app->get_options()) {
    if (option->get_type_name().starts_with("FLOAT")) option->transform(CLI::Validator(CheckNumber, ""));
  }
  for (CLI::App* command : app->get_subcommands(nullptr)) CheckNumberOptions(command);
}

}  // namespace fairlead::cli
