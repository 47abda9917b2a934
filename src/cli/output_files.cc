#include "cli/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"

namespace fairlead::cli {

Result<OutputFiles> OutputFiles::Prepare(std::initializer_list<std::string_view> paths) {
  const auto num_stdout = std::ranges::count(paths, std::string_view("-"));
  if (num_stdout > 1) return InvalidArgument("only one output can be '-' (stdout)");
  for (const std::string_view path : paths) FL_RETURN_IF_ERROR(PrepareOutputFolder(std::string(path)));
  OutputFiles files;
  files.is_quiet_ = num_stdout == 1;
  return files;
}

void OutputFiles::Write(const std::string& path, std::string_view what, const std::function<std::string()>& render) {
  if (path.empty()) return;
  std::fflush(stdout);
  const Status written = WriteOutput(path, render());
  if (written.ok() && !is_quiet_) fmt::print("{} written to {}\n", what, path);
  if (!written.ok() && status_.ok()) status_ = written;
}

}  // namespace fairlead::cli
