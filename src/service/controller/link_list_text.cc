#include "service/controller/link_list_text.h"

#include <fmt/format.h>

#include <iterator>

#include "service/controller/traffic_json.h"
#include "traffic/path_messages.h"

namespace fairlead::service {

LinkListText::LinkListText(const topology::Fabric& fabric) : ends_{0} {
  ends_.reserve(fabric.num_links() + 1);
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (topology::IsNetwork(fabric.tier(link))) {
      const Json constant = {{"name", fabric.LinkName(link)},
                             {"from", fabric.NodeName(fabric.source(link))},
                             {"to", fabric.NodeName(fabric.destination(link))},
                             {"tier", topology::Name(fabric.tier(link))},
                             {"capacity_bytes_per_s", fabric.capacity(link).value()}};
      begins_ += constant.dump(-1, ' ', false, Json::error_handler_t::replace);
      begins_.pop_back();  // "}"
    }
    ends_.push_back(begins_.size());
  }
}

std::string LinkListText::ListOf(std::span<const controller::LinkOnFabric> links) const {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{{\"links\":[");
  for (const controller::LinkOnFabric& link : links) {
    if (&link != links.data()) text.push_back(',');
    const std::string_view begin = BeginOf(link.link);
    text.append(begin.data(), begin.data() + begin.size());
    fmt::format_to(out, R"(,"state":"{}","health":{},"queue_pairs":{},"load":{}}})", traffic::Name(link.state),
                   link.health, link.num_queue_pairs, link.load);
  }
  fmt::format_to(out, "]}}\n");
  return fmt::to_string(text);
}

}  // namespace fairlead::service
