#include "sim/healthy_fabric.h"

#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"
#include "traffic/ecmp/ecmp_policy.h"

namespace fairlead::sim {
namespace {

class HealthyFabricTest : public testing::Test {
 protected:
  OneUplinkExample example_;
  traffic::EcmpPolicy ecmp_;
  HealthyFabric healthy_{example_.fabric, {&ecmp_}, 0.5, {}};
};

TEST_F(HealthyFabricTest, HeadersTakeTheirShareOfNetworkLinksOnly) {
  for (size_t i = 0; i < example_.fabric.num_links(); ++i) {
    const LinkId link(i);
    const double share = topology::IsNetwork(example_.fabric.tier(link)) ? 0.5 : 1;
    EXPECT_DOUBLE_EQ(healthy_.capacities()[link], example_.fabric.capacity(link).value() * share);
  }
  topology::LinkHealth health(example_.fabric.num_links(), 1.0);
  health[example_.Uplink()] = 0.25;
  EXPECT_DOUBLE_EQ(PayloadCapacities(example_.fabric, health, 1)[example_.Uplink()], 0.25e9);
}

// 1e12 FLOP an iteration; 4 GB over the uplink, on which 1e9 byte/s pass, are 4 s.
TEST_F(HealthyFabricTest, IntensityIsWorkBySecondsOnTheNetwork) {
  const model::Iteration sending = example_.Sending(1, 4);
  EXPECT_NEAR(healthy_.IntensityOf(JobId(0), sending, example_.PathsOf(sending)), 1e12 / 4, 1e3);
  EXPECT_EQ(healthy_.IntensityOf(JobId(0), OneUplinkExample::Computing(1), {}), 0);
}

TEST_F(HealthyFabricTest, SizesAreProfiledOnAsFewHostsAsPossible) {
  const uint32_t per_host = example_.fabric.num_gpus_of(HostId(0));
  model::Job job;
  job.id = JobId(0);
  job.num_gpus = per_host;
  job.elasticity.sizes = {per_host, 4 * per_host};
  // The compute is shared out; 0.5e9 byte/s of payload pass between the leaves, so 1 GB takes 2 s.
  const auto provider = [&](const model::Job& sized, const model::Placement&) -> Result<model::Iteration> {
    const double compute_s = 8.0 / (sized.num_gpus / per_host);
    return sized.num_gpus > per_host ? example_.Sending(compute_s, 1) : OneUplinkExample::Computing(compute_s);
  };
  const auto profile = healthy_.ProfileAlone(provider, job);
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->size(), 2u);
  EXPECT_EQ(profile->at(0).num_hosts, 1u);
  EXPECT_EQ(profile->at(0).network, Seconds(0));
  EXPECT_NEAR(profile->at(0).iteration.value(), 8, 1e-6);
  EXPECT_EQ(profile->at(1).num_hosts, 4u);
  EXPECT_NEAR(profile->at(1).compute.value(), 2, 1e-6);
  EXPECT_NEAR(profile->at(1).network.value(), 2, 1e-6);
  EXPECT_NEAR(profile->at(1).iteration.value(), 4, 1e-6);
}

}  // namespace
}  // namespace fairlead::sim
