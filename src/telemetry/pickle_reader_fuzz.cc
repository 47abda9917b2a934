// Any bytes as a pickle: data or an error, in bounded memory.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "telemetry/pickle_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto json = fairlead::telemetry::ParsePickle(bytes, "fuzz");
  if (!json.ok()) {
    FL_CHECK_MSG(json.status().message().starts_with("fuzz: byte "), json.status().message());
  } else {
    // Texts were checked, so it can be written.
    FL_CHECK(!json->dump().empty());
  }
  return 0;
}
