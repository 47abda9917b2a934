// Any bytes are a message or a clear error; a message that can be read is written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "wire/host_message_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::wire;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = ReadFromAgent(bytes); message.ok()) {
    const auto again = ReadFromAgent(WriteFromAgent(*message));
    FL_CHECK(again.ok() && *again == *message);
  } else {
    FL_CHECK(!message.status().message().empty());
  }
  if (const auto message = ReadToAgent(bytes); message.ok()) {
    const auto again = ReadToAgent(WriteToAgent(*message));
    FL_CHECK(again.ok() && *again == *message);
  }
  return 0;
}
