#include "service/controller/list_watch.h"

#include <bit>
#include <cstdint>
#include <string>

#include "base/random.h"

namespace fairlead::service {

size_t HashOf(const Json& json) {
  return std::hash<std::string>()(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

size_t HashOf(std::span<const controller::HostView> hosts) {
  uint64_t hash = hosts.size();
  for (const controller::HostView& host : hosts) {
    hash = CombineHash(hash, std::hash<std::string>()(host.name));
    hash = CombineHash(hash, std::hash<std::string>()(host.agent_version));
    hash = CombineHash(hash, host.is_connected ? 1 : 0);
  }
  return hash;
}

size_t HashOf(std::span<const controller::LinkOnFabric> links) {
  uint64_t hash = links.size();
  for (const controller::LinkOnFabric& link : links) {
    hash = CombineHash(hash, uint64_t{link.link.value()} << 32 | link.num_queue_pairs);
    hash = CombineHash(hash, static_cast<uint64_t>(link.state));
    hash = CombineHash(hash, std::bit_cast<uint64_t>(link.health));
    hash = CombineHash(hash, std::bit_cast<uint64_t>(link.load));
  }
  return hash;
}

void ListWatch::Tick(SimTime now, bool is_heard, const Publish& publish) {
  // Whoever comes first asks for all lists by itself; events of before are among them.
  const bool is_first = is_heard && !was_heard_;
  was_heard_ = is_heard;
  if (!is_heard || (now < next_ && !is_first)) return;
  next_ = now + period_;
  const Json events = events_();
  for (const Json& event : events["events"]) {
    const auto number = event["number"].get<uint64_t>();
    if (number <= last_event_) continue;
    last_event_ = number;
    if (!is_first) publish("note", event);
  }
  Json changed = Json::array();
  for (const WatchedList& list : lists_) {
    const size_t hash = list.hash();
    const auto [known, is_new] = hashes_.try_emplace(list.name, hash);
    if (!is_new && known->second == hash) continue;
    known->second = hash;
    changed.push_back(list.name);
  }
  publish("changed", changed);
}

}  // namespace fairlead::service
