// What goes into the controller of live traffic, and what comes out of it, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "controller/host_messages.h"
#include "controller/node_check_request.h"
#include "controller/slow_end_question.h"

namespace fairlead::controller {

// One stream of one agent. Numbers are never used again.
using StreamId = Id<struct StreamTag>;

// ---- Inputs ----
// Nothing comes of a stream after its end.
struct StreamMessage {
  StreamId stream;
  FromAgent message;
};
struct StreamEnded {
  StreamId stream;
};
// The report of a switch or an operator about one direction of a cable.
struct LinkHealthReported {
  LinkId link;
  double health = 1;  // fraction of the capacity that is left; 0 = down
  std::string source;
};
// What is found about a host has changed.
struct JudgementChanged {
  HostId host;
  HostJudged judged;
};
// Hosts are to be checked.
struct NodeCheckRequested {
  NodeCheckRequest request;
};
using TrafficInput =
    std::variant<StreamMessage, StreamEnded, LinkHealthReported, JudgementChanged, NodeCheckRequested, SlowEndQuestion>;

// ---- Outputs ----
struct SendToStream {
  StreamId stream;
  ToAgent message;
};
// After all earlier messages. Of agents that break the protocol or were refused.
struct EndStream {
  StreamId stream;
};
// To be kept before anything after it is sent.
struct RecordChanged {
  std::string key;
  std::optional<std::string> value;  // nothing: removed
};
// For the event list and the log.
struct Noted {
  enum class Severity : uint8_t { kInfo, kWarning };
  Severity severity = Severity::kInfo;
  std::string subject;  // "link leaf0->spine3", "host h4", "job gpt"
  std::string text;
};
// For the watch over jobs: what the agent of this host saw of a job.
struct ProcessesLooked {
  HostId host;
  ProcessesSeen look;
};
// Likewise: the agents of these hosts have come and were refused, as agents of another version are. So the hosts are
// there, though nothing is heard of their processes. Once a second at most, however often they come.
struct HostsAnswered {
  std::vector<HostId> hosts;  // ascending
};
using TrafficOutput =
    std::variant<SendToStream, EndStream, RecordChanged, Noted, ProcessesLooked, HostsAnswered, SlowEndAnswer>;
// Of these, what the watch over jobs takes.
using WatchInput = std::variant<ProcessesLooked, HostsAnswered, SlowEndAnswer>;

}  // namespace fairlead::controller
