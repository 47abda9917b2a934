#include "service/steering/operator_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace fairlead::service {
namespace {

// A year: a longer pause is a mistake.
constexpr double kPauseMax = 366.0 * 86'400;

}  // namespace

Result<HostId> FindHost(std::span<const std::string> host_names, const std::string& name) {
  const auto found = std::ranges::find(host_names, name);
  if (found == host_names.end()) return NotFound(fmt::format("no host '{}' in the fabric", name));
  return HostId(static_cast<size_t>(found - host_names.begin()));
}

Result<report::Json> OperatorOrders::UndoIsolation(const std::string& host, const std::string& who) {
  using controller::HostCondition;
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(host_names_, host));
  const HostCondition condition = shown_.ConditionOf(id);
  if (condition == HostCondition::kIsolating) {
    return Unavailable(fmt::format("host {} is being isolated: take it back when that is done", host));
  }
  if (condition != HostCondition::kIsolated) return InvalidArgument(fmt::format("host {} is not isolated", host));
  return Give(controller::IsolationUndone{id}, {"undo isolation", who, {{"host", host}}});
}

Result<report::Json> OperatorOrders::OfferSpare(const std::string& host, const std::string& who) {
  using controller::HostCondition;
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(host_names_, host));
  const HostCondition condition = shown_.ConditionOf(id);
  if (condition == HostCondition::kIsolating || condition == HostCondition::kIsolated) {
    return InvalidArgument(fmt::format("host {} is isolated: take that back first", host));
  }
  return Give(controller::SpareOffered{id}, {"offer spare", who, {{"host", host}}});
}

Result<report::Json> OperatorOrders::AnnouncePause(const std::string& job, double seconds, const std::string& reason,
                                                   const std::string& who) {
  if (!(seconds >= 0 && seconds <= kPauseMax)) {
    return InvalidArgument(fmt::format("for_s: expected 0 to {:.0f}, found {}", kPauseMax, seconds));
  }
  FL_ASSIGN_OR_RETURN(const JobId id, shown_.FindRunning(job));
  const controller::PauseAnnounced pause = {id, shown_.now() + SimDuration::FromSeconds(Seconds(seconds)), reason};
  return Give(pause,
              {"announce pause",
               who,
               {{"job", job}, {"for_s", seconds}, {"until_s", pause.until.seconds().value()}, {"reason", reason}}});
}

Result<report::Json> OperatorOrders::Give(controller::SteeringEvent event, const Text& text) {
  using report::Json;
  const SimTime now = shown_.now();
  Json line = {{"at_s", now.seconds().value()}, {"kind", "operator"}, {"who", text.who}, {"action", text.action}};
  line.update(text.about);
  if (options_.audit) FL_RETURN_IF_ERROR(options_.audit(line));
  if (options_.note) {
    const std::string about = text.about.dump(-1, ' ', false, Json::error_handler_t::replace);
    options_.note(now, {controller::Noted::Severity::kInfo, "steering",
                        fmt::format("operator at {}: {} {}", text.who, text.action, about)});
  }
  {
    std::unique_lock lock(mutex_);
    given_.push_back(std::move(event));
    const uint64_t number = ++num_given_;
    if (kept_.wait_for(lock, options_.patience, [&] { return num_kept_ >= number; })) return text.about;
  }
  const Status status = shown_.status();
  return Unavailable(status.ok() ? std::string("the diagnosis does not take orders now; try again")
                                 : "not saved yet, and carried out as soon as it is: " + status.message());
}

std::vector<controller::SteeringEvent> OperatorOrders::Take() {
  const std::lock_guard lock(mutex_);
  num_taken_ = num_given_;
  return std::exchange(given_, {});
}

uint64_t OperatorOrders::num_taken() const {
  const std::lock_guard lock(mutex_);
  return num_taken_;
}

void OperatorOrders::NoteKept(uint64_t num_orders) {
  {
    const std::lock_guard lock(mutex_);
    num_kept_ = std::max(num_kept_, num_orders);
  }
  kept_.notify_all();
}

}  // namespace fairlead::service
