// Which lists of the gateway differ from what listeners have been told: a page that listens need not ask for what is
// the same.
//
// Published every period while anybody listens, also when nothing differs, so that silence means that the controller is
// away:
//
//     event: changed      data: ["jobs", "links"]      names of lists, as in /v1/NAME
//     event: note         data: {"number", "time_s", "severity", "subject", "text"}      as in /v1/events, each once
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "controller/traffic_views.h"
#include "service/controller/traffic_json.h"

namespace fairlead::service {

struct WatchedList {
  std::string name;
  std::function<size_t()> hash;  // another one where the list differs
};

size_t HashOf(const Json& json);
// Without the times of last messages, which change all the time and say nothing new.
size_t HashOf(std::span<const controller::HostView> hosts);
size_t HashOf(std::span<const controller::LinkOnFabric> links);

class ListWatch {
 public:
  using Publish = std::function<void(const std::string& event, const Json& data)>;

  // Args: events: {"events": […]} as in /v1/events.
  ListWatch(std::vector<WatchedList> lists, std::function<Json()> events, SimDuration period)
      : lists_(std::move(lists)), events_(std::move(events)), period_(period) {}

  // Args: now does not run backwards; is_heard: whether anybody listens. Cost: while somebody does, that of the hashes of
  // all lists, once in a period.
  void Tick(SimTime now, bool is_heard, const Publish& publish);

 private:
  const std::vector<WatchedList> lists_;
  const std::function<Json()> events_;
  const SimDuration period_;
  SimTime next_;
  bool was_heard_ = false;
  uint64_t last_event_ = 0;
  std::map<std::string, size_t> hashes_;
};

}  // namespace fairlead::service
