#include "service/steering/live_actions.h"

#include <map>

#include "service/http/steering_routes.h"

namespace fairlead::service {

Result<std::unique_ptr<LiveActions>> LiveActions::Start(SimTime now, const LiveActionsOptions& options,
                                                        std::vector<std::string> host_names,
                                                        SteeringSurroundings surroundings) {
  std::unique_ptr<LiveActions> actions(new LiveActions());
  store::Store* store = surroundings.store;
  if (!options.health_receiver.address.empty()) {
    controller::SteeringNames names;
    names.host = [host_names](HostId host) {
      return host.index() < host_names.size() ? host_names[host.index()] : std::string();
    };
    names.job = surroundings.job_name;
    FL_ASSIGN_OR_RETURN(actions->tracker_, HealthEventTracker::Restore(now, options.health, std::move(names), store));
    FL_ASSIGN_OR_RETURN(actions->sender_, HealthEventSender::Start(options.health_receiver));
  }
  FL_ASSIGN_OR_RETURN(actions->steering_,
                      LiveSteering::Start(now, options.steering, std::move(host_names), std::move(surroundings)));
  return actions;
}

void LiveActions::Handle(SimTime now, std::span<const controller::SteeringEvent> events) {
  if (tracker_) sender_->Put(tracker_->Handle(now, events));
  steering_->Handle(now, events);
}

std::vector<HttpRoute> LiveActions::Routes() {
  std::vector<HttpRoute> routes = SteeringRoutes(steering_.get());
  routes.front().show = [this] { return ToJson(); };
  return routes;
}

report::Json LiveActions::ToJson() const {
  report::Json json = steering_->ToJson();
  json["health_events"] = nullptr;
  if (sender_ == nullptr) return json;
  const HealthEventCounters counters = health_events();
  json["health_events"] = {{"sent", counters.events_sent},
                           {"waiting", counters.waiting},
                           {"failures", counters.failures},
                           {"error", report::NameOrNull(counters.error)}};
  return json;
}

}  // namespace fairlead::service
