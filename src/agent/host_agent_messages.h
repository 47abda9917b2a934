// What reaches the agent of a host, and what it wants done: its events and actions, as plain values.
//
//     processes, controller, probes, ----> HostAgent::Handle() ----> answers, messages to the controller, probes,
//     rewriting, sockets                                             rewriting, traffic classes
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

// One question of one process. Numbers are never used again while the agent runs.
using QuestionId = uint64_t;

// Both ends of a TCP connection as its own sockets have them, seen from this host.
struct SocketPair {
  IpAddress local;
  IpAddress remote;
  uint16_t local_port = 0;
  uint16_t remote_port = 0;

  friend auto operator<=>(const SocketPair&, const SocketPair&) = default;
};

// ---- Events ----

enum class QuestionKind : uint8_t {
  kConnect,    // a TCP connection is about to be opened
  kAccept,     // one was accepted
  kQueuePair,  // a queue pair of RoCE is about to be connected
};
// `source` is the address that the connection will leave from, also where the process left the choice to the kernel.
struct PathRequested {
  QuestionId question = 0;
  QuestionKind kind = QuestionKind::kConnect;
  int32_t pid = 0;     // as the kernel says
  uint64_t inode = 0;  // of the socket; 0 for queue pairs
  std::string job;
  IpAddress source;
  IpAddress destination;
  uint16_t source_port = 0;  // 0: not chosen yet
  uint16_t destination_port = 0;
};
// What came of an answer that was kUse.
struct PathRequestOutcome {
  QuestionId question = 0;
  uint16_t source_port = 0;  // 0: none
  int32_t error = 0;         // errno; 0 or EINPROGRESS: there is a connection
};
// It hung up; the question is over. Comes last for each question, also after PathRequestOutcome.
struct ProcessLeft {
  QuestionId question = 0;
};
// The stream to the controller is up, or has broken.
struct StreamOpened {};
struct StreamBroken {};
struct MessageFromController {
  controller::ToAgent message;
};
// Of an order to probe, whole or as much as could be done.
struct ProbesDone {
  uint64_t order = 0;
  std::vector<controller::PortScanSeen> scans;  // none: nothing could be done
};
struct RewriteDone {
  uint64_t ticket = 0;
  std::string error;  // empty: done
};
// TCP sockets that are connected or about to be, all of the host.
struct SeenSocket {
  SocketPair ends;
  uint64_t inode = 0;  // 0: the process has closed it
  // Closed, and all that it sent has arrived: only its peer may still send, until that closes, too.
  bool is_over = false;
  double bytes_acked = 0;
  double bytes_received = 0;

  friend bool operator==(const SeenSocket&, const SeenSocket&) = default;
};
struct SocketsSeen {
  SimTime asked_at;  // nothing that was opened before is missing
  std::vector<SeenSocket> sockets;
};
// Those of HostAgent::OpenSockets() that are still connected; what is missing was closed, or opened later.
struct BytesSeen {
  SimTime asked_at;
  std::vector<SeenSocket> sockets;
};
struct ProcessEnded {
  int32_t pid = 0;
};
// Sockets of training processes, of those that were asked about; no others have such an owner.
struct SocketOwner {
  uint64_t inode = 0;
  int32_t pid = 0;
  std::string job;

  friend bool operator==(const SocketOwner&, const SocketOwner&) = default;
};
struct OwnersFound {
  std::vector<SocketOwner> owners;
};
// What State() was at this revision outlives the agent.
struct StateKept {
  uint64_t revision = 0;
};
// One look at the segments of this host's training processes; there is one about each second.
struct SegmentsSeen {
  SimTime at;  // on the host's clock, as reports have it
  std::vector<telemetry::SeenProcess> processes;
  std::vector<model::HostSymptomRecord> symptoms = {};  // of this host, since the look before
  // Jobs of which Slurm has processes on this host, by its number, ascending. Nothing: no slurmd is seen here.
  std::optional<std::vector<uint32_t>> slurm_jobs = std::nullopt;
};

// Of a RunHostTest: the receiver's port is open; and what came of it.
struct HostTestListens {
  uint64_t test = 0;
  uint16_t port = 0;
};
struct HostTestEnded {
  controller::HostTestDone done;  // without symptoms
};

using HostEvent = std::variant<PathRequested, PathRequestOutcome, ProcessLeft, StreamOpened, StreamBroken,
                               MessageFromController, ProbesDone, RewriteDone, SocketsSeen, BytesSeen, ProcessEnded,
                               OwnersFound, StateKept, SegmentsSeen, HostTestListens, HostTestEnded>;

// ---- Actions ----

struct AnswerProcess {
  QuestionId question = 0;
  bool leave = true;  // else what the fields say
  uint16_t source_port = 0;
  bool sets_class = false;
  uint8_t traffic_class = 0;

  friend bool operator==(const AnswerProcess&, const AnswerProcess&) = default;
};
struct SendToController {
  controller::FromAgent message;
};
// One at a time of each urgency; ProbesDone must follow.
struct ProbePorts {
  uint64_t order = 0;
  bool is_urgent = false;
  controller::PortScanWanted scan;
};
// Packets of `direction` from `from_port` get `to_port`.
struct RewriteRule {
  enum class Direction : uint8_t {
    kDeparture,  // leaving, after the socket
    kArrival,    // arriving, before the socket
  };
  Direction direction = Direction::kDeparture;
  IpAddress source;
  IpAddress destination;
  uint16_t from_port = 0;
  uint16_t destination_port = 0;

  friend auto operator<=>(const RewriteRule&, const RewriteRule&) = default;
};
// This host's socket whose packets the rule rewrites to, or from, `to_port`.
inline SocketPair EndsOf(const RewriteRule& rule, uint16_t to_port) {
  if (rule.direction == RewriteRule::Direction::kDeparture) {
    return {rule.source, rule.destination, rule.from_port, rule.destination_port};
  }
  return {rule.destination, rule.source, rule.destination_port, to_port};
}
// Replaces the rule's earlier port; RewriteDone follows.
struct SetRewrite {
  uint64_t ticket = 0;
  RewriteRule rule;
  uint16_t to_port = 0;
};
// A rule that is not there is fine; RewriteDone follows.
struct ClearRewrite {
  uint64_t ticket = 0;
  RewriteRule rule;
};
// Whose are these sockets? OwnersFound follows.
struct FindOwners {
  std::vector<uint64_t> inodes;
};
struct SetSocketClass {
  int32_t pid = 0;
  uint64_t inode = 0;
  bool is_ipv6 = false;
  uint8_t traffic_class = 0;
};
// What is found about this host, whole: the last one counts.
struct KeepJudgement {
  controller::HostJudged judged;
};
// Several run at once. HostTestEnded follows, before it HostTestListens of receivers.
struct RunHostTest {
  controller::HostTestWanted wanted;
};
// Those under way are to end soon.
struct StopHostTests {};
// For the log.
struct Noted {
  std::string text;
};

using HostAction = std::variant<AnswerProcess, SendToController, ProbePorts, SetRewrite, ClearRewrite, FindOwners,
                                SetSocketClass, KeepJudgement, RunHostTest, StopHostTests, Noted>;

}  // namespace fairlead::agent
