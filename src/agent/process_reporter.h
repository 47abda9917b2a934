// What the controller is told of this host's training processes: one word for each job and look.
//
// Problem     the diagnosis must hear of the end of a process even if the controller was away at that moment; segments
//             are made by strangers, who may call their job anything and fill all tables; words have a size.
// Method      processes by job. One that has ended is told whole once, and then again without its records, in
//             `kTellEnded` looks that were heard. What breaks the bounds of words (telemetry/process_report.h) is left
//             out: a process, or of the processes from there on their records; noted once each.
// Cost        linear in what was seen, which is copied. Memory: kEndedMax processes without records.
// Guarantees  words are within the contract of ProcessesSeen. Numbers count looks, heard or not.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

class ProcessReporter {
 public:
  static constexpr uint32_t kTellEnded = 60;
  static constexpr size_t kEndedMax = 4096;

  // Args: what one look saw; whether the controller will hear it. Returns words by job's name.
  std::vector<controller::ProcessesSeen> Report(SimTime at, const std::vector<telemetry::SeenProcess>& seen,
                                                bool is_heard);
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
  // Without a place in the word, or without room for its records, in bounds all the same.
  void Add(const telemetry::SeenProcess& process, controller::ProcessesSeen* message, size_t* num_records);
  void NoteOnce(std::string text);

  uint64_t num_looks_ = 0;
  std::map<Key, Ended> ended_;
  std::set<std::string> noted_;
  std::vector<std::string> notes_;
};

}  // namespace fairlead::agent
