// Findings as health events of hosts, for systems that keep the health of nodes: which event does a finding make?
//
//     finding confirmed --> "unhealthy" for each host that it names    (once, whatever changes of it later)
//     finding cleared   --> "healthy" for each of those, when no other finding of that check is left there
//
// A check is a syndrome: FairleadCommHang, FairleadDead, … Findings that name no host make no events. Events sent are
// saved in the store ("health_events/open"), so that a host that an earlier process called unhealthy is called healthy
// again when its finding is not made again within `inherited_for`.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/steering_events.h"
#include "store/store.h"
#include "wire/health_event_codec.h"

namespace fairlead::service {

struct HealthEventOptions {
  // Whether receivers may drain or restart a host with recommended isolation. Otherwise no event is fatal, and all ask
  // to be kept only.
  bool may_be_acted_upon = false;
  // > 0. How long after a start the events of the previous process hold without a finding.
  SimDuration inherited_for = SimDuration(600'000'000'000);
};

class HealthEventTracker {
 public:
  // Args: names: of hosts and jobs; called by Handle(). Errors: kDataLoss: the record can't be read; the store's.
  static Result<HealthEventTracker> Restore(SimTime now, const HealthEventOptions& options,
                                            controller::SteeringNames names, store::Store* store);

  // Events to send, in order. They are saved before they are returned; while the store accepts nothing, they are
  // returned anyway: at worst a host stays unhealthy after a crash until a person looks.
  std::vector<wire::HealthEvent> Handle(SimTime now, std::span<const controller::SteeringEvent> events);

 private:
  using Key = std::pair<std::string, std::string>;  // node, check

  HealthEventTracker(SimTime now, const HealthEventOptions& options, controller::SteeringNames names,
                     store::Store* store)
      : options_(options), names_(std::move(names)), store_(store), started_(now) {}

  void Open(SimTime now, const model::Finding& finding, std::vector<wire::HealthEvent>* events);
  void Close(SimTime now, const model::Finding& finding, std::vector<wire::HealthEvent>* events);
  static wire::HealthEvent Healthy(SimTime now, const Key& key);
  void Keep();

  HealthEventOptions options_;
  controller::SteeringNames names_;
  store::Store* store_;
  SimTime started_;
  std::map<Key, std::set<model::FindingId>> open_;
  std::set<Key> inherited_;  // of open_, by no finding of this process
  std::string kept_;
};

// "FairleadCommHang" of kCommHang, and so on.
std::string CheckName(model::Syndrome syndrome);

}  // namespace fairlead::service
