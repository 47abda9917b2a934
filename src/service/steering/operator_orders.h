// Orders of operators: checked by what is shown of steering, logged, and answered once they are kept.
//
//     operator --> order, in the audit log --> [given] --Take()--> a batch of LiveSteering --NoteKept()--> answer
//
// Thread      orders: any, each blocks its giver for up to the patience; Take(), NoteKept() and num_taken() that of
//             LiveSteering::Handle(). The mutex guards all that changes. Nothing is called while it is held, and the
//             one of ShownSteering is never taken together with it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/steering_events.h"
#include "controller/traffic_controller.h"
#include "report/json_value.h"
#include "service/steering/shown_steering.h"

namespace fairlead::service {

// Args: host_names [host]. Errors: kNotFound.
Result<HostId> FindHost(std::span<const std::string> host_names, const std::string& name);

struct OperatorOrderOptions {
  // > 0. How long an operator waits for his order to be taken up.
  std::chrono::milliseconds patience{5'000};
  // A line of the audit log; empty: there is none. Any thread, likewise below.
  std::function<Status(const report::Json&)> audit = {};
  // For the list of events; may be empty.
  std::function<void(SimTime, const controller::Noted&)> note = {};
};

class OperatorOrders {
 public:
  // The pointers must outlive this. Args: host_names [host]: do not change.
  OperatorOrders(const ShownSteering* shown, const std::vector<std::string>* host_names, OperatorOrderOptions options)
      : shown_(*shown), host_names_(*host_names), options_(std::move(options)) {}

  // Each waits until the order is kept, and returns what to answer. Args: who: for the audit log.
  // Errors: kNotFound: no such host or job; kInvalidArgument: it makes no sense for that host;
  // kUnavailable: the audit log or the store takes nothing, or the diagnosis does not move.
  Result<report::Json> UndoIsolation(const std::string& host, const std::string& who);
  Result<report::Json> OfferSpare(const std::string& host, const std::string& who);
  // Args: seconds: 0 ends a pause.
  Result<report::Json> AnnouncePause(const std::string& job, double seconds, const std::string& reason,
                                     const std::string& who);

  // Orders since the last call, in order.
  std::vector<controller::SteeringEvent> Take();
  // How many were taken since the start; and that so many are kept: their givers are answered.
  uint64_t num_taken() const;
  void NoteKept(uint64_t num_orders);

 private:
  // An order as the log and the answer have it.
  struct Text {
    std::string action;
    std::string who;
    report::Json about;
  };

  Result<report::Json> Give(controller::SteeringEvent event, const Text& text);

  const ShownSteering& shown_;
  const std::vector<std::string>& host_names_;
  const OperatorOrderOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable kept_;
  std::vector<controller::SteeringEvent> given_;  // and not taken
  uint64_t num_given_ = 0;
  uint64_t num_taken_ = 0;
  uint64_t num_kept_ = 0;
};

}  // namespace fairlead::service
