#include "agent/training_addresses.h"

#include <gtest/gtest.h>

namespace fairlead::agent {
namespace {

IpAddress Address(uint32_t number) { return IpAddress::FromIpv4(number); }

constexpr SimDuration kMemory(60);

TEST(TrainingAddressesTest, TrainingGoesFromANicHereToAnotherHost) {
  const TrainingAddresses addresses({Address(1), Address(2)}, kMemory);
  EXPECT_TRUE(addresses.AreTraining(Address(1), Address(3)));
  EXPECT_FALSE(addresses.AreTraining(Address(1), Address(2))) << "both are here";
  EXPECT_FALSE(addresses.AreTraining(Address(3), Address(4))) << "from no NIC of this host";
}

TEST(TrainingAddressesTest, AStrangerIsOneForAWhile) {
  TrainingAddresses addresses({Address(1)}, kMemory);
  EXPECT_FALSE(addresses.IsStranger(Address(3), SimTime(0)));
  addresses.AddStranger(Address(3), SimTime(100));
  EXPECT_TRUE(addresses.IsStranger(Address(3), SimTime(159)));
  EXPECT_FALSE(addresses.IsStranger(Address(3), SimTime(160)));
  // Told again, it is one for as long again.
  addresses.AddStranger(Address(3), SimTime(150));
  EXPECT_TRUE(addresses.IsStranger(Address(3), SimTime(209)));
  EXPECT_FALSE(addresses.IsStranger(Address(4), SimTime(150)));
}

// A job that scans addresses fills no memory.
TEST(TrainingAddressesTest, TheLastOfTooManyStrangersAreRemembered) {
  TrainingAddresses addresses({Address(1)}, kMemory, /*num_strangers_max=*/3);
  for (uint32_t i = 10; i < 15; ++i) {
    addresses.AddStranger(Address(i), SimTime(100));
    EXPECT_TRUE(addresses.IsStranger(Address(i), SimTime(100)));
  }
  int num_strangers = 0;
  for (uint32_t i = 10; i < 15; ++i) num_strangers += addresses.IsStranger(Address(i), SimTime(100)) ? 1 : 0;
  EXPECT_EQ(num_strangers, 3);
}

}  // namespace
}  // namespace fairlead::agent
