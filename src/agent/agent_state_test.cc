#include "agent/agent_state.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::agent {
namespace {

AgentState RandomState(Random* random) {
  AgentState state;
  const auto number = [&](uint64_t n) { return random->Below(n); };
  const auto address = [&] {
    return number(2) == 0 ? IpAddress::FromIpv4(static_cast<uint32_t>((*random)())) : ParseIpAddress("fd00::7").value();
  };
  for (uint64_t i = number(4); i > 0; --i) {
    KeptConnection& held = state.connections.emplace_back();
    held.job = std::string(1 + number(63), std::string("azAZ09._-")[number(9)]);
    held.wanted = {.connection = (*random)(), .source = address(), .destination = address()};
    held.wanted.weight = random->Uniform(0.1, 9);
    held.wanted.destination_port = static_cast<uint16_t>(number(65536));
    held.wanted.pid = static_cast<int32_t>(number(1 << 22));
    held.inode = (*random)();
    held.socket_port = static_cast<uint16_t>(number(65536));
    held.wire_port = static_cast<uint16_t>(number(65536));
    held.is_answered = number(2) == 0;
    held.answer = {.kind = static_cast<traffic::QueuePairAnswer::Kind>(number(4)),
                   .plane = static_cast<uint32_t>(number(2)),
                   .path = static_cast<uint32_t>(number(99)),
                   .port = static_cast<uint16_t>(number(65536)),
                   .epoch = (*random)()};
  }
  for (uint64_t i = number(3); i > 0; --i) {
    state.aliases.push_back({.alias = (*random)(),
                             .source = address(),
                             .destination = address(),
                             .destination_port = static_cast<uint16_t>(number(65536)),
                             .socket_port = 1,
                             .wire_ports = {static_cast<uint16_t>(number(65536)), 7}});
  }
  for (uint64_t i = number(3); i > 0; --i) state.accepted.push_back({"job", 4, (*random)(), number(2) == 0});
  for (uint64_t i = number(3); i > 0; --i) state.levels["j" + std::to_string(i)] = static_cast<uint32_t>(number(8));
  return state;
}

TEST(AgentState, IsReadBackAsItWasWritten) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const AgentState state = RandomState(&random);
    const auto read = ReadAgentState(WriteAgentState(state), "file");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, state) << seed;
  }
}

// The checksum is of all that follows the first line, and that line has one form only.
TEST(AgentState, AnyCutOrChangeIsFound) {
  Random random(7);
  const std::string text = WriteAgentState(RandomState(&random));
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(ReadAgentState(text.substr(0, size), "f").ok()) << size;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(ReadAgentState(changed, "f").ok()) << i;
  }
}

TEST(AgentState, ABadNameOfAJobIsRefused) {
  for (const char* name : {"a b", "../x", ""}) {
    AgentState state;
    state.accepted.push_back({name, 4, 5, false});
    EXPECT_FALSE(ReadAgentState(WriteAgentState(state), "f").ok()) << name;
  }
}

TEST(AgentState, AnotherVersionIsNamed) {
  const auto read = ReadAgentState("fairlead-agent-state 2 0000000000000000\n{}", "/run/x");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(read.status().message(), "/run/x: is of version 2, this agent reads 1");
}

}  // namespace
}  // namespace fairlead::agent
