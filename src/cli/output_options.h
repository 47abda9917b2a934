// --json FILE and --format: how what a command has to say leaves it. All commands with tables have both.
#pragma once

#include <string>

#include "report/document.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::cli {

struct OutputOptions {
  std::string json;              // FILE of --json; "-": stdout; empty: not given
  std::string format = "table";  // one of report::OutputFormatNames()

  report::OutputFormat document_format() const;
  // Where JSON goes: --format json is --json -. Empty: nowhere.
  std::string json_path() const;
};

// Declares both. OutputFiles::Prepare() checks that they go together, and prints and writes accordingly.
// Args: json_help: what is written as JSON: "Write all results as JSON to FILE; - prints only JSON".
void AddOutputOptions(CLI::App* command, OutputOptions* options, const std::string& json_help);

// --html FILE and --figures DIR: a page, and its figures as files. All commands with a page have both.
struct PageOptions {
  std::string html;     // "-": stdout; empty: not given
  std::string figures;  // a folder; empty: not given

  bool is_wanted() const { return !html.empty() || !figures.empty(); }
};

// Declares both. OutputFiles::Prepare() and WritePage() do as they say.
void AddPageOptions(CLI::App* command, PageOptions* options);

}  // namespace fairlead::cli
