#include "service/controller/list_watch.h"

#include <string_view>
#include <utility>

namespace fairlead::service {

namespace {

std::string TextOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

size_t HashOf(Json json, const std::vector<std::string>& passed_over) {
  for (auto& [name, list] : json.items()) {
    if (!list.is_array()) continue;
    for (Json& item : list) {
      for (const std::string& key : passed_over) item.erase(key);
    }
  }
  return std::hash<std::string>()(TextOf(json));
}

}  // namespace

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
    const size_t hash = HashOf(list.make(), list.passed_over);
    const auto [known, is_new] = hashes_.try_emplace(list.name, hash);
    if (!is_new && known->second == hash) continue;
    known->second = hash;
    changed.push_back(list.name);
  }
  publish("changed", changed);
}

}  // namespace fairlead::service
