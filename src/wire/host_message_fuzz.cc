// Any bytes are a message or a clear error; a message that can be read is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "wire/host_message_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::wire;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto messages = ReadFromAgent(bytes); messages.ok()) {
    std::string written;
    for (const auto& message : *messages) written += WriteFromAgent(message);
    const auto again = ReadFromAgent(written);
    FL_CHECK(again.ok() && *again == *messages);
  } else {
    FL_CHECK(!messages.status().message().empty());
  }
  if (const auto messages = ReadToAgent(bytes); messages.ok()) {
    std::string written;
    for (const auto& message : *messages) written += WriteToAgent(message);
    const auto again = ReadToAgent(written);
    FL_CHECK(again.ok() && *again == *messages);
  }
  return 0;
}
