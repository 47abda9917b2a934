// All that is done about findings in a daemon: steering, and health events for other systems.
//
//     diagnosis --> Handle() --+--> LiveSteering --> back end, audit log, people
//                              +--> HealthEventTracker --> HealthEventSender --> NVSentinel
//
// Thread      as LiveSteering.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "service/controller/health_event_sender.h"
#include "service/controller/health_event_tracker.h"
#include "service/http/http_route.h"
#include "service/steering/live_steering.h"

namespace fairlead::service {

struct LiveActionsOptions {
  LiveSteeringOptions steering = {};
  // Without an address nothing is sent.
  HealthEventSenderOptions health_receiver = {};
  HealthEventOptions health = {};
};

class LiveActions {
 public:
  // Args and errors: as LiveSteering::Start(), and those of health events.
  static Result<std::unique_ptr<LiveActions>> Start(SimTime now, const LiveActionsOptions& options,
                                                    std::vector<std::string> host_names,
                                                    SteeringSurroundings surroundings);

  // Has the diagnosis number jobs and findings as before: a JobWatch, before its first look.
  template <class Watch>
  void Prepare(Watch& watch) const {
    for (const auto& [job, name] : steering_->KnownJobs()) watch.Restore(name, job);
    if (steering_->LastFinding().valid()) watch.Restore(steering_->LastFinding());
  }

  void Handle(SimTime now, std::span<const controller::SteeringEvent> events);

  // /v1/steering and everything below it; /v1/steering also counts health events. They must not outlive this.
  std::vector<HttpRoute> Routes();
  const LiveSteering& steering() const { return *steering_; }
  // Nothing was sent, and nothing waits, where there is no receiver.
  HealthEventCounters health_events() const { return sender_ == nullptr ? HealthEventCounters() : sender_->counters(); }

 private:
  LiveActions() = default;
  report::Json ToJson() const;

  std::unique_ptr<LiveSteering> steering_;
  std::optional<HealthEventTracker> tracker_;
  std::unique_ptr<HealthEventSender> sender_;
};

}  // namespace fairlead::service
