// Any bytes as a trace profile: an error with the name, or a profile that a small trace can be drawn from.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/trace_generator.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace trace = fairlead::trace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profile = trace::ParseTraceProfile(text, "fuzz.yaml");
  if (!profile.ok()) {
    FL_CHECK(profile.status().message().starts_with("fuzz.yaml:"));
    return 0;
  }
  trace::GeneratorOptions options = profile->generator;
  options.days = 1;
  double per_day = 1;
  for (const double count : profile->arrivals_per_day) per_day += count;
  options.load = 100 / per_day;
  const auto drawn = trace::GenerateTrace(*profile, options);
  FL_CHECK_MSG(drawn.ok(), drawn.status().message());
  for (const trace::TraceJob& job : drawn->jobs) FL_CHECK(trace::ValidateJob(job).ok());
  return 0;
}
