// The outputs of one call of the controller of live traffic.
//
// All its components append to this one list, so outputs stand in the order in which they were decided: a record before
// what is said after it, an end after all messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/traffic_messages.h"
#include "topology/fabric.h"

namespace fairlead::controller {

class TrafficOutputs {
 public:
  // `fabric` names hosts; it must outlive this.
  explicit TrafficOutputs(const topology::Fabric& fabric) : fabric_(fabric) {}

  // Args: output: one of TrafficOutput; made in its place, as messages are large.
  template <class Output>
  void Add(Output output) {
    outputs_.emplace_back(std::in_place_type<Output>, std::move(output));
  }
  void Note(Noted::Severity severity, std::string subject, std::string text) {
    Add(Noted{severity, std::move(subject), std::move(text)});
  }
  void NoteHost(Noted::Severity severity, HostId host, std::string text) {
    Note(severity, "host " + fabric_.HostName(host), std::move(text));
  }
  // To what an agent has said or done.
  void Object(HostId host, std::string text) { NoteHost(Noted::Severity::kWarning, host, std::move(text)); }

  // All since the last call.
  std::vector<TrafficOutput> Take() { return std::exchange(outputs_, {}); }

 private:
  const topology::Fabric& fabric_;
  std::vector<TrafficOutput> outputs_;
};

// Of a record that an earlier controller has kept.
inline Status DamagedRecord(const std::string& key) {
  return {StatusCode::kDataLoss, fmt::format("record '{}': can't be read; restore the last good state", key)};
}

}  // namespace fairlead::controller
