#include "service/controller/link_list_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/random.h"
#include "service/controller/traffic_json.h"
#include "topology/clos_fabrics.h"
#include "traffic/path_messages.h"

namespace fairlead::service {
namespace {

// Against the library, for random states of all links of the network.
TEST(LinkListTextTest, IsTheJsonOfAllLinks) {
  const auto fabric = topology::BuildClos({.leaves = 3, .hosts_per_leaf = 2, .spines = 2});
  ASSERT_TRUE(fabric.ok());
  const LinkListText text(*fabric);
  EXPECT_EQ(Json::parse(text.ListOf({})), Json({{"links", Json::array()}}));
  Random random(5);
  const double values[] = {0, 1, 0.1, 1e-300, 1e21, 2.0 / 3, std::numeric_limits<double>::max()};
  for (int round = 0; round < 20; ++round) {
    std::vector<controller::LinkOnFabric> links;
    Json expected = Json::array();
    for (uint32_t l = 0; l < fabric->num_links(); ++l) {
      const LinkId link(l);
      if (!topology::IsNetwork(fabric->tier(link)) || random.Below(4) == 0) continue;
      links.push_back({.link = link,
                       .state = static_cast<traffic::LinkState>(random.Below(3)),
                       .health = values[random.Below(3)],
                       .num_queue_pairs = static_cast<uint32_t>(random.Below(1u << 31)),
                       .load = values[random.Below(std::size(values))]});
      const controller::LinkOnFabric& it = links.back();
      expected.push_back({{"name", fabric->LinkName(link)},
                          {"from", fabric->NodeName(fabric->source(link))},
                          {"to", fabric->NodeName(fabric->destination(link))},
                          {"tier", topology::Name(fabric->tier(link))},
                          {"capacity_bytes_per_s", fabric->capacity(link).value()},
                          {"state", traffic::Name(it.state)},
                          {"health", it.health},
                          {"queue_pairs", it.num_queue_pairs},
                          {"load", it.load}});
    }
    EXPECT_EQ(Json::parse(text.ListOf(links)), Json({{"links", expected}}));
  }
}

}  // namespace
}  // namespace fairlead::service
