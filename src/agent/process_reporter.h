// Reports to the controller about this host's training processes: one message per job and look.
//
// Problem     the diagnosis must learn of the end of a process even if the controller was away at that moment; segments
//             are written by untrusted processes, which may use any job name and fill all tables; messages have a
//             maximum size.
// Method      processes by job. An ended process is reported in full once, and then without its records in `kTellEnded`
//             more looks that were delivered. Whatever exceeds the bounds of a message (telemetry/process_report.h) is
//             left out: a process, or the records of all processes from there on; each is logged once. What is wrong
//             with the host's devices is reported of each job, once, as soon as there is a controller.
// Cost        linear in what was seen, which is copied. Memory: kEndedMax processes without records.
// Guarantees  messages are within the contract of ProcessesSeen. Numbers count looks, delivered or not.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

class ProcessReporter {
 public:
  static constexpr uint32_t kTellEnded = 60;
  static constexpr size_t kEndedMax = 4096;

  // Args: result of one look; whether it will be delivered to the controller. Returns messages by job name.
  std::vector<controller::ProcessesSeen> Report(const SegmentsSeen& look, bool is_heard);
  // For the log; each text once.
  std::vector<std::string> TakeNotes() { return std::exchange(notes_, {}); }

 private:
  using Key = std::tuple<std::string, int32_t, uint64_t>;  // job, number and start of the process
  struct Ended {
    telemetry::SeenProcess process;  // without records
    uint32_t num_reported = 0;
  };

  bool IsFit(const telemetry::SeenProcess& process);
  void Remember(const telemetry::SeenProcess& process);
  // With no place in the message, or no room for its records, the message still stays in bounds.
  void Add(const telemetry::SeenProcess& process, controller::ProcessesSeen* message, size_t* num_records);
  void Keep(const std::vector<model::HostSymptomRecord>& symptoms);
  void NoteOnce(std::string text);

  uint64_t num_looks_ = 0;
  std::map<Key, Ended> ended_;
  std::vector<model::HostSymptomRecord> symptoms_;  // that no controller has heard
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

}  // namespace fairlead::agent
