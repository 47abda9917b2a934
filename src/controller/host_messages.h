// What agents and the controller tell each other, as plain values.
//
// One stream for each agent, messages in order, several of them sent as one where they come together. Addresses are IP
// addresses, jobs are names: agents know no fabric. When a stream breaks both sides may have missed something; on the
// next one the agent identifies itself and, on request, reports its state.
//
//     agent                                    controller
//       | -- HostHello ------------------------> |    first on each stream
//       | <----------------- Welcome / Refused - |    a refused agent may try again later
//       | -- PathsWanted, Heartbeat, … --------> |
//       | <-- PathsAnswered, PathsChanged, … --- |
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/ip_address.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "model/finding.h"
#include "model/measured_profile.h"
#include "telemetry/process_report.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

// Both sides must have the same. Raised with each change that an older side would misunderstand.
inline constexpr uint32_t kProtocolVersion = 4;

// ---- From an agent ----

struct HostHello {
  uint32_t protocol_version = kProtocolVersion;
  std::string host;           // as the fabric names it; with TLS that of the certificate
  std::string agent_version;  // for people
  std::vector<IpAddress> nics;
  bool can_test = false;  // takes HostTestWanted

  friend bool operator==(const HostHello&, const HostHello&) = default;
};

// Renews whatever the host holds.
struct Heartbeat {
  uint32_t num_leases = 0;                // jobs with connections on this host
  bool sees_slurm = false;                // a slurmd runs on the host, and processes of its jobs can be seen
  std::vector<uint32_t> slurm_jobs = {};  // of which there are some, by Slurm's number, ascending

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

using WantedConnection = traffic::ConnectionBetween<IpAddress>;

struct PathsWanted {
  uint64_t request = 0;  // comes back in the answer
  std::string job;
  std::vector<WantedConnection> connections;

  friend bool operator==(const PathsWanted&, const PathsWanted&) = default;
};

// The source port that a queue pair's socket really has; the wire may show another one (PrepareArrival).
struct ConnectionOpened {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  uint16_t socket_port = 0;

  friend bool operator==(const ConnectionOpened&, const ConnectionOpened&) = default;
};

struct ConnectionsClosed {
  std::string job;
  std::vector<uint64_t> connections;  // empty: all that the job has on this host

  friend bool operator==(const ConnectionsClosed&, const ConnectionsClosed&) = default;
};

struct HeldConnection {
  WantedConnection wanted;
  std::vector<traffic::HeldPath> queue_pairs;  // [queue pair]
  std::vector<uint16_t> socket_ports;          // [queue pair]; 0: not open yet

  friend bool operator==(const HeldConnection&, const HeldConnection&) = default;
};
// All that a job has on this host. One for each job answers AnnouncementWanted, then AnnouncementFinished.
struct ConnectionsHeld {
  std::string job;
  std::vector<HeldConnection> connections;

  friend bool operator==(const ConnectionsHeld&, const ConnectionsHeld&) = default;
};

// The host holds nothing of jobs that it has not named since it was asked: an agent that lost its state announces just
// this.
struct AnnouncementFinished {
  friend bool operator==(const AnnouncementFinished&, const AnnouncementFinished&) = default;
};

// What the packets from some source ports of a scan showed, alike.
struct ProbedRoute {
  std::vector<IpAddress> hops;  // routers that answered, in order; unset: that one was silent
  uint64_t sent = 0;            // packets from each port
  uint64_t lost = 0;            // of them
  Seconds rtt;                  // the least; not positive: not measured
  std::vector<uint16_t> source_ports;

  friend bool operator==(const ProbedRoute&, const ProbedRoute&) = default;
};
// What came of a PortScanWanted, whole or in part. Many ports share few routes, so each is reported once.
struct PortScanSeen {
  IpAddress source;
  IpAddress destination;
  uint32_t plane = 0;
  uint8_t protocol = 6;
  uint16_t destination_port = 0;
  uint64_t epoch = 0;  // of the order
  std::vector<ProbedRoute> routes;

  friend bool operator==(const PortScanSeen&, const PortScanSeen&) = default;
};
struct ProbesFinished {
  uint64_t round = 0;  // of the order; 0: of a search for ports
  std::vector<PortScanSeen> scans;

  friend bool operator==(const ProbesFinished&, const ProbesFinished&) = default;
};

// Packets that arrive with the wire's port are shown to their socket with the socket's.
struct ArrivalPrepared {
  uint64_t alias = 0;
  std::string error;  // empty: done

  friend bool operator==(const ArrivalPrepared&, const ArrivalPrepared&) = default;
};

// An open queue pair did not take the port that it was to have: its packets go on with the one of before.
struct MoveRefused {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  uint16_t port = 0;       // refused
  uint16_t wire_port = 0;  // in force; 0: not known yet, as after a restart of the agent
  std::string reason;

  friend bool operator==(const MoveRefused&, const MoveRefused&) = default;
};

// What the counters of this host say of a job over a window: of its processes here, and of what they send.
struct JobMeasured {
  std::string job;
  uint32_t num_gpus = 0;           // here
  model::MeasuredProfile profile;  // flow_bytes: [connection], per iteration
  std::vector<uint64_t> connections;

  friend bool operator==(const JobMeasured&, const JobMeasured&) = default;
};

// What the agent saw in one look at the processes of a job on this host, once a second while there are any. One that is
// gone remains in looks for a while, the last time that it was read without its records. Nothing is sent while the
// controller is away, but numbers continue.
struct ProcessesSeen {
  std::string job;
  uint64_t number = 0;  // of the agent's looks, of whatever job; counts from 0
  SimTime at;           // on the host's clock
  // At most kProcessesMax, with kProcessRecordsMax records together; what each tells is within FindFault's bounds, and
  // `job` is this one (telemetry/process_report.h).
  std::vector<telemetry::SeenProcess> processes;
  // Of the host, since the message before about this job; at most kSymptomsMax, texts of at most kSymptomBytesMax.
  std::vector<model::HostSymptomRecord> symptoms = {};

  friend bool operator==(const ProcessesSeen&, const ProcessesSeen&) = default;
};
inline constexpr size_t kProcessesMax = 1024;  // of a job on a host
inline constexpr size_t kSymptomsMax = 32;
inline constexpr size_t kSymptomBytesMax = 256;

// The receiving side of a HostTestWanted listens.
struct HostTestReady {
  uint64_t test = 0;
  uint16_t port = 0;

  friend bool operator==(const HostTestReady&, const HostTestReady&) = default;
};

// What came of this host's part in a test. Each HostTestWanted has one, while its stream lasts.
struct HostTestDone {
  uint64_t test = 0;
  std::string error;        // of at most kSymptomBytesMax; empty: it was carried out
  bool is_refused = false;  // with `error`: it was not begun
  double rate = 0;          // payload that arrived, bytes/s; of receivers
  double lost_share = 0;    // of the packets sent, 0..1; of senders
  Seconds rtt;              // the least; not positive: not measured; of senders
  double score = 0;         // higher is better; of burn-in
  // Of the host while it was tested; bounds as in ProcessesSeen.
  std::vector<model::HostSymptomRecord> symptoms = {};

  friend bool operator==(const HostTestDone&, const HostTestDone&) = default;
};

using FromAgent = std::variant<HostHello, Heartbeat, PathsWanted, ConnectionOpened, ConnectionsClosed, ConnectionsHeld,
                               ProbesFinished, ArrivalPrepared, MoveRefused, JobMeasured, AnnouncementFinished,
                               ProcessesSeen, HostTestReady, HostTestDone>;

// ---- To an agent ----

struct Welcome {
  std::string controller_version;
  SimDuration heartbeat_period;
  SimDuration lease_ttl;  // after which what a silent host holds is given to others

  friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Refused {
  std::string reason;

  friend bool operator==(const Refused&, const Refused&) = default;
};

struct PathsAnswered {
  uint64_t request = 0;
  std::string job;
  std::vector<traffic::ConnectionAnswer> connections;  // [of the request]
  uint32_t level = 0;                                  // of the job

  friend bool operator==(const PathsAnswered&, const PathsAnswered&) = default;
};

struct QueuePairChanged {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  traffic::QueuePairAnswer answer;
  traffic::MoveCause cause = traffic::MoveCause::kLinkDown;
  // Its packets may leave by this port at once. Else only a socket that is not open yet may take it: the controller did
  // not know of one, so nothing is rewritten at the other end.
  bool is_prepared = false;

  friend bool operator==(const QueuePairChanged&, const QueuePairChanged&) = default;
};
struct PathsChanged {
  std::vector<QueuePairChanged> changes;

  friend bool operator==(const PathsChanged&, const PathsChanged&) = default;
};

// Send probes with these source ports, and tell where they went.
struct PortScanWanted {
  IpAddress source;
  IpAddress destination;
  uint32_t plane = 0;
  uint8_t protocol = 6;
  uint16_t destination_port = 0;
  uint64_t epoch = 0;
  std::vector<uint16_t> source_ports;

  friend bool operator==(const PortScanWanted&, const PortScanWanted&) = default;
};
struct ProbesWanted {
  uint64_t round = 0;  // 0: a search for ports that a process waits for
  std::vector<PortScanWanted> scans;

  friend bool operator==(const ProbesWanted&, const ProbesWanted&) = default;
};

// A queue pair that arrives at this host is about to move: rewrite `wire_port` of what arrives into `socket_port`, and
// the ports of earlier orders as before.
// Asked again with another wire port when it moves again, or with that of before when it does not move after all;
// `wire_port` is `socket_port` when it moves back. Each order is answered, in order. Forgotten when the connection is
// gone. The same queue pair has the same alias always, whichever controller asks.
struct PrepareArrival {
  uint64_t alias = 0;
  IpAddress source;
  IpAddress destination;
  uint8_t protocol = 6;
  uint16_t destination_port = 0;
  uint16_t socket_port = 0;
  uint16_t wire_port = 0;

  friend bool operator==(const PrepareArrival&, const PrepareArrival&) = default;
};
// The connection has ended, as far as the controller knows: what arrives for it is rewritten until its socket is gone.
struct ForgetArrival {
  uint64_t alias = 0;

  friend bool operator==(const ForgetArrival&, const ForgetArrival&) = default;
};

// The controller may have forgotten what this host holds, or the host itself: say it (ConnectionsHeld of each job, then
// AnnouncementFinished).
struct AnnouncementWanted {
  friend bool operator==(const AnnouncementWanted&, const AnnouncementWanted&) = default;
};

struct LevelSet {
  std::string job;
  uint32_t level = 0;  // 0 = first
  std::string reason;

  friend bool operator==(const LevelSet&, const LevelSet&) = default;
};

// Findings about this host that still hold: sent after each Welcome, and in full whenever they change.
struct HostJudged {
  struct Finding {
    std::string job;
    model::Syndrome syndrome = model::Syndrome::kCommHang;
    std::string text;  // for people
    model::RecommendedAction action = model::RecommendedAction::kNone;

    friend bool operator==(const Finding&, const Finding&) = default;
  };
  std::vector<Finding> findings;

  friend bool operator==(const HostJudged&, const HostJudged&) = default;
};

// What a host's part in a test is. Values of messages: never renumber.
enum class HostTestKind : uint8_t {
  kReceive = 0,  // listen, say so (HostTestReady), and count what comes from `peer`
  kSend = 1,     // send to `peer` for `length`
  kBurnIn = 2,   // run the operator's program for that long
};
// A test of the host, or of a path together with another one. Tests of a host run at once.
struct HostTestWanted {
  uint64_t test = 0;  // comes back; not 0
  HostTestKind kind = HostTestKind::kReceive;
  IpAddress local;            // NIC of this host; unset for burn-in
  IpAddress peer;             // likewise
  uint16_t port = 0;          // of the receiver; 0 except for senders
  uint64_t secret = 0;        // the receiver counts only connections that begin with it
  uint32_t num_streams = 1;   // TCP connections at once, 1 .. kTestStreamsMax
  double rate_max = 0;        // bytes/s; 0: as fast as it can
  SimDuration length;         // 1 ns .. kTestLengthMax
  bool despite_jobs = false;  // else refused where a training job has connections on this host

  friend bool operator==(const HostTestWanted&, const HostTestWanted&) = default;
};
inline constexpr uint32_t kTestStreamsMax = 16;
inline constexpr SimDuration kTestLengthMax = SimDuration(600'000'000'000);

// The controller has lost interest: whatever test is under way is to end.
struct HostTestsCancelled {
  friend bool operator==(const HostTestsCancelled&, const HostTestsCancelled&) = default;
};

using ToAgent = std::variant<Welcome, Refused, PathsAnswered, PathsChanged, ProbesWanted, PrepareArrival, ForgetArrival,
                             AnnouncementWanted, LevelSet, HostJudged, HostTestWanted, HostTestsCancelled>;

}  // namespace fairlead::controller
