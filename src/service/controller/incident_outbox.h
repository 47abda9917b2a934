// Delivers traces of incidents to a collector, beside the caller, and keeps them in the store until they are there.
//
//     Keep(), Send() --> [inbox] --> one thread --+--> store: "otlp/TRACE"
//                                                 +--> post --> collector
//
// Retry       what was not taken waits 1, 2, 4, … at most 60 s, or as long as the collector asks, at most an hour. One
//             trace at a time, oldest first, so that a collector that is away is asked once, not once for each.
// Bound       `num_waiting_max` traces wait; beyond that the oldest is given up, as is one that the collector refuses,
//             or that has waited for `waits_max`. An event and a counter say so.
// Guarantees  at least once, over restarts, while the store lives: a trace is forgotten when it was taken or given up.
//             A process that dies between the two sends it again, with the same ids, by which collectors know it.
//             Traces of incidents that had not ended when their process did are sent by the next one, as far as they
//             were known.
// Thread      any. Nothing waits for the store or the collector but the end: at most for one request to be broken off.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "service/controller/otlp_http.h"
#include "store/store.h"

namespace fairlead::service {

struct IncidentOutboxOptions {
  // Between attempts: 0 < shortest <= longest.
  std::chrono::milliseconds delay_min{1'000};
  std::chrono::milliseconds delay_max{60'000};
  // Of what a collector asks for, at most.
  std::chrono::milliseconds asked_delay_max{3'600'000};
  size_t num_waiting_max = 256;                     // > 0
  std::chrono::milliseconds waits_max{86'400'000};  // > 0; of the time of this process
};

struct IncidentOutboxCounters {
  uint64_t sent = 0;
  uint64_t given_up = 0;
  uint64_t failures = 0;  // attempts that were not taken
  uint64_t waiting = 0;
};

class IncidentOutbox {
 public:
  struct Surroundings {
    // Called by the thread. Returns when it is answered; `stop` breaks it off, from another thread.
    std::function<OtlpAnswer(const std::string& body)> post;
    std::function<void()> stop = {};
    // What people should know; is_warning: or good news.
    std::function<void(bool is_warning, const std::string& text)> note = {};
  };

  // Takes over what an earlier process left in the store, which must outlive this. Errors: the store's.
  static Result<std::unique_ptr<IncidentOutbox>> Start(const IncidentOutboxOptions& options, Surroundings surroundings,
                                                       store::Store* store);
  ~IncidentOutbox();
  IncidentOutbox(const IncidentOutbox&) = delete;
  IncidentOutbox& operator=(const IncidentOutbox&) = delete;

  // The trace of an incident that goes on, as it is now: what the next process sends if this one ends before it. Args:
  // trace: its id; label: of its incident, for people, one line.
  void Keep(const std::string& trace, const std::string& label, const std::string& body);
  // That of one that is over.
  void Send(const std::string& trace, const std::string& label, const std::string& body);

  IncidentOutboxCounters counters() const;

 private:
  class Impl;
  explicit IncidentOutbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlead::service
