#include "topology/place_names.h"

#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"

namespace fairlead::topology {
namespace {

TEST(PlaceNamesTest, AreThoseOfTheFabric) {
  ClosSpec spec{.pods = 1, .leaves = 2, .hosts_per_leaf = 2, .spines = 1, .cores = 0};
  spec.host.gpus = 2;
  spec.host.nics = 2;
  const Fabric fabric = BuildClos(spec).value();
  const model::PlaceNames names = NamePlaces(fabric);
  EXPECT_EQ(names.Of(HostId(3)), "host h3");
  // Two NICs a host: the third host begins with the fifth.
  EXPECT_EQ(names.Of(NicId(5)), "NIC h2/nic1");
  EXPECT_EQ(names.Of(model::LeafId(1)), "leaf switch leaf1");
}

TEST(PlaceNamesTest, WhatHasNoNameHasANumber) {
  for (const model::PlaceNames& names : {model::PlaceNames(), model::PlaceNames({"h0", "", "h2"}, {}, {})}) {
    EXPECT_EQ(names.Of(HostId(1)), "host 1");
    EXPECT_EQ(names.Of(HostId(3)), "host 3");
    EXPECT_EQ(names.Of(NicId(0)), "NIC 0");
    EXPECT_EQ(names.Of(model::LeafId(7)), "leaf switch 7");
  }
}

}  // namespace
}  // namespace fairlead::topology
