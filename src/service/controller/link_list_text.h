// All links of the network as JSON text, of which most stays the same: what a page of a large cluster asks for most
// often.
//
//     {"links": [{"name", "from", "to", "tier", "capacity_bytes_per_s", "state", "health", "queue_pairs", "load"}]}
//
// Cost        memory: 150 bytes for each link of the network; ListOf() 0.3 us for each of its links.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/traffic_views.h"
#include "topology/fabric.h"

namespace fairlead::service {

class LinkListText {
 public:
  explicit LinkListText(const topology::Fabric& fabric);

  // Args: links: of the fabric's network, as ViewLinks() has them. Thread: any.
  std::string ListOf(std::span<const controller::LinkOnFabric> links) const;

 private:
  std::string_view BeginOf(LinkId link) const {
    return std::string_view(begins_).substr(ends_[link.index()], ends_[link.index() + 1] - ends_[link.index()]);
  }

  std::string begins_;          // of all objects, one after the other: keys that never change
  std::vector<uint64_t> ends_;  // [LinkId + 1] in begins_; the first is 0
};

}  // namespace fairlead::service
