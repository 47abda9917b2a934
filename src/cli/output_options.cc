#include "cli/output_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/check.h"
#include "cli/named_choice.h"

namespace fairlead::cli {

using report::OutputFormat;

OutputFormat OutputOptions::document_format() const {
  const auto names = report::OutputFormatNames();
  const auto found = std::ranges::find(names, format);
  FL_CHECK(found != names.end());  // OneOf() saw to it
  return static_cast<OutputFormat>(found - names.begin());
}

std::string OutputOptions::json_path() const {
  return json.empty() && document_format() == OutputFormat::kJson ? "-" : json;
}

void AddOutputOptions(CLI::App* command, OutputOptions* options, const std::string& json_help) {
  command->add_option("--json", options->json, json_help)->type_name("FILE");
  command
      ->add_option("--format", options->format,
                   "How to print: table, json (as --json -), csv (only the tables) or markdown")
      ->check(OneOf(report::OutputFormatNames()))
      ->capture_default_str();
}

void AddPageOptions(CLI::App* command, PageOptions* options) {
  command
      ->add_option("--html", options->html,
                   "Write a self-contained HTML page with figures to FILE; - prints only the page")
      ->type_name("FILE");
  command
      ->add_option("--figures", options->figures,
                   "Write each figure of the page as SVG and as PDF, and its numbers as CSV, to the folder DIR")
      ->type_name("DIR");
}

}  // namespace fairlead::cli
