// Fuzz target: the output of a hook, and its result for steering.
//
// Any output gives an answer: clean, short, and the same when read again; no host is healthy by accident.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "report/printable_text.h"
#include "service/steering/hook_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fairlead::service::ParseHookOutput;
  const std::string_view output(reinterpret_cast<const char*>(data), size);
  const auto answer = ParseHookOutput(output);
  FL_CHECK(answer.message.size() <= 202);
  FL_CHECK(answer.message == fairlead::report::CleanText(answer.message));
  FL_CHECK(!answer.is_healthy || output.find("healthy") != output.npos || output.find('\\') != output.npos);
  return 0;
}
