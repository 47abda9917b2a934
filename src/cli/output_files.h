// The results that a command prints and writes: a document on stdout, and files that the user names, or one of them on
// stdout instead ("-"), which then holds nothing else.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/output_options.h"
#include "report/document.h"

namespace fairlead::cli {

class OutputFiles {
 public:
  // A long command must not find out at its end that its results can't be written: makes the folders that are missing.
  // Args: paths: of all results but JSON and the page; empty: not asked for.
  // Errors: kInvalidArgument: several results would go to stdout; --format json with another --json FILE; those of
  // PrepareOutputFolder().
  static Result<OutputFiles> Prepare(const OutputOptions& options, std::initializer_list<std::string_view> paths = {},
                                     const PageOptions& page = {});

  // Prints what there is to say, in the format that was asked for; nothing where another result goes to stdout. Several
  // documents are printed as if they were one.
  void Print(const report::Document& document);

  // Writes what `render` returns if it is asked for, and says so: "Page written to out.html". What was computed reaches
  // the user even where another file can't be written.
  void Write(const std::string& path, std::string_view what, const std::function<std::string()>& render);
  // The page that `render` returns, and each of its figures as a file of SVG, one of PDF, and one of CSV beside them
  // where it has numbers: what is asked for of them.
  void WritePage(const PageOptions& options, const std::function<std::string()>& render);
  // The same where --json or --format json say.
  void WriteJson(std::string_view what, const std::function<std::string()>& render);

  // The first error of Write().
  const Status& status() const { return status_; }

 private:
  explicit OutputFiles(const OutputOptions& options);
  void WriteFigures(const std::string& folder, const std::string& page);

  std::string json_path_;
  report::OutputFormat format_;
  report::DocumentRenderer renderer_;
  bool is_quiet_ = false;  // one result goes to stdout: nothing else may be printed
  Status status_;
};

}  // namespace fairlead::cli
