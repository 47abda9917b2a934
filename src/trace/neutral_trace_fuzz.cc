// Any bytes as a neutral trace: an error with a line, or jobs that survive writing and reading back.
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "trace/neutral_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = fairlead::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto jobs = trace::ReadNeutralTrace(std::make_unique<std::istringstream>(text), "fuzz.csv");
  if (!jobs.ok()) {
    FL_CHECK(jobs.status().message().starts_with("fuzz.csv:"));
    return 0;
  }
  const auto written = trace::RenderNeutralTrace(jobs->jobs);
  FL_CHECK_MSG(written.ok(), written.status().message());
  const auto again = trace::ReadNeutralTrace(std::make_unique<std::istringstream>(*written), "again.csv");
  FL_CHECK_MSG(again.ok(), again.status().message());
  FL_CHECK(again->jobs == jobs->jobs);
  return 0;
}
