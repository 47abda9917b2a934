#include "lab/lab_state.h"

#include <gtest/gtest.h>

#include "topology/rail_fabric.h"

namespace fairlead::lab {
namespace {

LabState SomeState() {
  topology::RailSpec spec;
  spec.spines = 3;
  spec.segments = 2;
  spec.hosts_per_segment = 2;
  LabState state;
  state.name = "test-1";
  state.source = "/fabrics/\"odd\" name.yaml";
  state.plan = PlanLab(topology::BuildRail(spec).value(), {.scale = 3e-4, .hash_seed = 12345}).value();
  state.health = CableHealth(state.plan.cables.size(), 1);
  state.health[CableId(3u)] = 0;
  state.health[CableId(4u)] = 0.1;
  state.keeper = {.pid = 77, .start_ticks = 1ull << 40, .boot_id = "x-y", .has_user_namespace = true, .namespaces = {}};
  for (size_t i = 0; i < state.plan.nodes.size() + 1; ++i) state.keeper.namespaces.push_back(static_cast<int>(i) + 4);
  return state;
}

TEST(LabState, IsReadAsItWasWritten) {
  const LabState state = SomeState();
  const auto read = ReadLabState(WriteLabState(state), "lab.json");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, state);
}

TEST(LabState, OfAnotherVersionCanOnlyBeTakenDown) {
  std::string text = WriteLabState(SomeState());
  text.replace(text.find("\"format\":3"), 10, "\"format\":9");
  const auto read = ReadLabState(text, "lab.json");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("another version"), std::string::npos);
  const auto keeper = ReadKeeperOf(text, "lab.json");
  ASSERT_TRUE(keeper.ok());
  EXPECT_EQ(*keeper, SomeState().keeper);
}

TEST(LabState, DamageIsAnErrorNotACrash) {
  const std::string text = WriteLabState(SomeState());
  for (size_t length = 0; length + 2 < text.size(); length += 37) {
    EXPECT_FALSE(ReadLabState(text.substr(0, length), "lab.json").ok()) << length;
  }
  for (const char* other : {"", "[]", "{}", "{\"format\":3}", "null", "{\"format\":2,\"keeper\":[]}"}) {
    EXPECT_FALSE(ReadLabState(other, "lab.json").ok()) << other;
    EXPECT_FALSE(ReadKeeperOf(other, "lab.json").ok()) << other;
  }
}

}  // namespace
}  // namespace fairlead::lab
