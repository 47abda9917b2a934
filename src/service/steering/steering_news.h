// What people are told of steering: its actions, and what has become of them, in the words of the fabric and the jobs.
//
// An outcome names its action by number; what that was is kept here while it is open. Names are those of the time when
// the action was made: a job may be forgotten before its last outcome.
//
// Thread      one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/action_attempts.h"
#include "controller/steering_dispatcher.h"
#include "controller/traffic_controller.h"

namespace fairlead::service {

class SteeringNews {
 public:
  // `names` must outlive this.
  explicit SteeringNews(const controller::SteeringNames* names) : names_(*names) {}

  // An action that may be told of later.
  void Note(const controller::SteeringAction& action);
  // Others than these are not told of any more.
  void KeepOnly(const controller::ActionAttempts& open);

  // Nothing: people need not know, as with an ExcuseJob, which is for the diagnosis.
  std::optional<controller::Noted> TextOf(const controller::AuditEntry& entry) const;

 private:
  std::optional<controller::Noted> TextOf(const controller::SteeringAction& action) const;
  std::optional<controller::Noted> TextOf(const controller::SteeringEvent& event) const;

  const controller::SteeringNames& names_;
  std::map<uint64_t, std::string> descriptions_;  // [number of an action]
};

}  // namespace fairlead::service
