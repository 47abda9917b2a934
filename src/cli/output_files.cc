#include "cli/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/command.h"
#include "cli/figure_pdf.h"
#include "report/figure_data.h"
#include "report/number_format.h"

namespace fairlead::cli {
namespace {

using report::OutputFormat;

// Formats for other programs, which notes must not interrupt.
bool IsForPrograms(OutputFormat format) { return format == OutputFormat::kCsv || format == OutputFormat::kMarkdown; }

Status PrepareFolder(const std::string& path) {
  if (path.empty()) return OkStatus();
  if (IsStdout(path)) return InvalidArgument("--figures -: figures are files; expected the name of a folder");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return OkStatus();
  return InvalidArgument(fmt::format("--figures {}: cannot create the folder: {}", path,
                                     error ? error.message() : std::string("a file has this name")));
}

}  // namespace

OutputFiles::OutputFiles(const OutputOptions& options)
    : json_path_(options.json_path()), format_(options.document_format()), renderer_(format_) {}

Result<OutputFiles> OutputFiles::Prepare(const OutputOptions& options, std::initializer_list<std::string_view> paths,
                                         const PageOptions& page) {
  const OutputFormat format = options.document_format();
  if (format == OutputFormat::kJson && options.json_path() != "-") {
    return InvalidArgument(fmt::format(
        "--format json prints the JSON that --json {} writes; expected one of the two options", options.json));
  }
  const bool prints_json = IsStdout(options.json_path());
  const auto num_stdout =
      std::ranges::count(paths, std::string_view("-")) + (prints_json ? 1 : 0) + (IsStdout(page.html) ? 1 : 0);
  if (num_stdout > 1) return InvalidArgument("only one output can be '-' (stdout); name a file for the others");
  if (num_stdout > 0 && IsForPrograms(format)) {
    return InvalidArgument(fmt::format(
        "--format {} prints to stdout, where another output ('-') goes; name a file for that one", options.format));
  }
  FL_RETURN_IF_ERROR(PrepareOutputFolder(options.json));
  for (const std::string_view path : paths) FL_RETURN_IF_ERROR(PrepareOutputFolder(std::string(path)));
  FL_RETURN_IF_ERROR(PrepareOutputFolder(page.html));
  FL_RETURN_IF_ERROR(PrepareFolder(page.figures));
  if (IsForPrograms(format)) report::LiftOutputWidth();
  OutputFiles files(options);
  files.is_quiet_ = num_stdout == 1;
  return files;
}

void OutputFiles::Print(const report::Document& document) {
  if (is_quiet_) return;
  fmt::print("{}", renderer_.Render(document));
}

void OutputFiles::Write(const std::string& path, std::string_view what, const std::function<std::string()>& render) {
  if (path.empty()) return;
  std::fflush(stdout);
  const Status written = WriteOutput(path, render());
  if (written.ok() && !is_quiet_) {
    fmt::print(IsForPrograms(format_) ? stderr : stdout, "{} written to {}\n", what, path);
  }
  if (!written.ok() && status_.ok()) status_ = written;
}

void OutputFiles::WritePage(const PageOptions& options, const std::function<std::string()>& render) {
  if (!options.is_wanted()) return;
  const std::string page = render();
  Write(options.html, "Page", [&] { return page; });
  WriteFigures(options.figures, page);
}

void OutputFiles::WriteFigures(const std::string& folder, const std::string& page) {
  if (folder.empty()) return;
  std::fflush(stdout);
  const std::vector<report::FigureFile> figures = report::FiguresOf(page);
  bool has_pdfs = true;
  for (const report::FigureFile& figure : figures) {
    const std::filesystem::path path = std::filesystem::path(folder) / figure.name;
    Status written = WriteOutput(path.string() + ".svg", figure.svg);
    if (written.ok() && !figure.csv.empty()) written = WriteOutput(path.string() + ".csv", figure.csv);
    if (written.ok() && has_pdfs) {
      // SVG and CSV are worth having without.
      const auto pdf = RenderPdf(figure.svg);
      has_pdfs = pdf.ok();
      if (pdf.ok()) written = WriteOutput(path.string() + ".pdf", *pdf);
      if (!pdf.ok()) fmt::print(stderr, "fairlead: warning: {}\n", pdf.status().message());
    }
    if (written.ok()) continue;
    if (status_.ok()) status_ = written;
    return;
  }
  if (is_quiet_) return;
  fmt::print(IsForPrograms(format_) ? stderr : stdout, "{} written to {}\n",
             report::FormatCount(figures.size(), "figure"), folder);
}

void OutputFiles::WriteJson(std::string_view what, const std::function<std::string()>& render) {
  Write(json_path_, what, render);
}

}  // namespace fairlead::cli
