// Fuzz target: the state file of an agent. Whatever can be read is written and read back as it is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/agent_state.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::agent;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ReadAgentState(text, "fuzz");
  // Else nearly nothing would get past the checksum.
  const auto state = ReadAgentState(SealAgentState(text), "fuzz");
  if (!state.ok()) return 0;
  const auto again = ReadAgentState(WriteAgentState(*state), "fuzz");
  FL_CHECK(again.ok() && WriteAgentState(*again) == WriteAgentState(*state));
  return 0;
}
