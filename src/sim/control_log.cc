#include "sim/control_log.h"

#include <variant>

namespace fairlead::sim {

void ControlLog::NotePlan(SimTime now, std::span<const controller::Event> events,
                          std::span<const controller::Action> actions, const controller::ControlCounters& before,
                          const controller::ControlCounters& after) {
  ControlChange change{.time_s = now.seconds().value(),
                       .path_changes = after.path_changes - before.path_changes,
                       .level_changes = after.level_changes - before.level_changes};
  for (const controller::Event& event : events) {
    change.jobs_ended += std::holds_alternative<controller::JobFinished>(event);
    change.links_changed += std::holds_alternative<controller::LinkHealthChanged>(event);
  }
  for (const controller::Action& action : actions) {
    change.jobs_started += std::holds_alternative<controller::StartJob>(action);
  }
  Add(change);
}

void ControlLog::NoteLive(const ControlChange& change) {
  ++live_counters_.plans;
  live_counters_.path_changes += change.path_changes;
  live_counters_.level_changes += change.level_changes;
  Add(change);
}

void ControlLog::Add(const ControlChange& change) {
  if (change.path_changes + change.level_changes > 0) changes_.push_back(change);
}

}  // namespace fairlead::sim
