// Any bytes as a record of /dev/kmsg, and as a message: neither may be read beyond its end, and a device comes from it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "telemetry/kernel_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  const auto message = fairlead::telemetry::ReadKernelRecord(record);
  if (message.has_value()) FL_CHECK(message->size() < record.size());
  for (const std::string_view text : {record, message.value_or("")}) {
    const auto symptom = fairlead::telemetry::ReadKernelMessage(text);
    if (symptom.has_value()) FL_CHECK(symptom->device.size() <= text.size());
  }
  return 0;
}
