// Any bytes as job.csv and worker.csv (joined by a line "---"): an error that names the file, or valid jobs in order.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "trace/lingjun_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = fairlead::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find("\n---\n");
  const auto stream = [](const std::string& part) { return std::make_unique<std::istringstream>(part); };
  trace::LingjunImportOptions options;
  options.keep_still_running = size % 2 == 0;
  const auto import = trace::ImportLingjun({.jobs = stream(text.substr(0, cut)),
                                            .workers = stream(cut == std::string::npos ? "" : text.substr(cut + 5)),
                                            .topology = nullptr},
                                           options);
  if (!import.ok()) {
    const std::string& message = import.status().message();
    FL_CHECK(message.starts_with("job.csv:") || message.starts_with("worker.csv:") ||
             message.starts_with("no job is left"));
    return 0;
  }
  FL_CHECK(import->report.num_jobs == import->trace.jobs.size());
  for (const trace::TraceJob& job : import->trace.jobs) FL_CHECK(trace::ValidateJob(job).ok());
  return 0;
}
