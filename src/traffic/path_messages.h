// Input and output of a path service (path_service.h): its events, answers and actions, as plain values.
//
// Addresses are NICs and planes; the carrier of messages translates them from and to IP addresses, and switches on a
// route into links. All answers may be lost or come twice: requests, renewals, announcements and releases can be
// repeated.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "traffic/connection.h"

namespace fairlead::traffic {

// What the processes of a job on a host hold; they start and end together.
struct LeaseId {
  HostId host;
  JobId job;

  friend constexpr auto operator<=>(LeaseId, LeaseId) = default;
};

enum class LinkState : uint8_t {
  kUp,         // carries paths
  kSuspect,    // was bad lately; new paths only where nothing else is left
  kDown,       // carries nothing
  kProbation,  // was down, looks clean; new paths only where nothing else is left
};
std::string_view Name(LinkState state);  // "up", "suspect", "down", "probation"

// One task of a round of probes: from port `plane` of a NIC to port `plane` of another.
struct ProbePair {
  uint32_t plane = 0;
  NodeId source_leaf;
  NodeId destination_leaf;
  NicId source;
  NicId destination;
  // Ports to try: c4p::SteeringPort(first_source_port - c4p::kFirstSourcePort + i), i < num_source_ports.
  uint16_t first_source_port = 0;
  uint32_t num_source_ports = 0;

  friend bool operator==(const ProbePair&, const ProbePair&) = default;
};

// ---- Events ----

using ConnectionRequest = ConnectionBetween<NicId>;
inline constexpr uint32_t kMaxQueuePairs = 256;
// Loads of links are sums of weights: beside a larger one the others would be lost to rounding, for good.
inline constexpr double kWeightMax = 1e12;

// The agent of the source NICs' host asks. A repeated request has the same answer.
struct PathsRequested {
  uint64_t request = 0;  // comes back in the answer
  HostId host;
  JobId job;
  std::vector<ConnectionRequest> connections;
};

// A host's heartbeat. Hosts without a heartbeat for a lease's term are asked for no probes.
struct LeasesRenewed {
  HostId host;
  uint32_t num_leases = 0;                 // how many the agent believes to hold; another number is asked after
  std::optional<std::vector<JobId>> jobs;  // only these; nothing: all
};

struct ConnectionsReleased {
  HostId host;
  JobId job;
  std::vector<uint64_t> connections;  // empty: all of the lease
};

// What one queue pair uses, by its last answer.
struct HeldPath {
  bool is_managed = false;  // else nothing below counts
  uint32_t plane = 0;
  uint32_t path = 0;
  uint16_t port = 0;  // 0: none found yet

  friend bool operator==(const HeldPath&, const HeldPath&) = default;
};
struct HeldConnection {
  ConnectionRequest request;
  std::vector<HeldPath> queue_pairs;  // [queue pair]
};
// The port that a queue pair's packets carry, and that of its socket, which stays when packets get another. Reported
// again when they do.
struct QueuePairOpened {
  HostId host;
  JobId job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  uint16_t port = 0;
  uint16_t socket_port = 0;
};
// A holder reports to a master that may have forgotten it everything that a lease has, with unanswered requests;
// anything beyond that known to the master is released.
struct LeasesAnnounced {
  HostId host;
  JobId job;
  std::vector<HeldConnection> connections;
};

// What the packets from some source ports of a scan showed, alike.
struct ProbedRoute {
  std::vector<LinkId> links;  // from NIC to NIC; empty where it was not seen
  uint64_t sent = 0;          // packets from each port
  uint64_t lost = 0;          // of them
  Seconds rtt;                // the least; not positive: not measured
  std::vector<uint16_t> ports;
};
// What came of a PortScan, whole or in part.
struct PortScanSeen {
  NicId source;
  NicId destination;
  uint32_t plane = 0;
  uint8_t protocol = 17;
  uint16_t destination_port = 4791;
  uint64_t epoch = 0;  // of the order to probe
  std::vector<ProbedRoute> routes;
};
// A round of the mesh: tells of the health of links, and of ports.
struct ProbeRoundFinished {
  std::vector<PortScanSeen> scans;
  // PortsScanned has already reported their ports: so that a round of many hosts is not learned all at once.
  bool are_ports_reported = false;
};
// Answer to ScanPorts, whole or in part: tells of ports only.
struct PortsScanned {
  std::vector<PortScanSeen> scans;
};

// The report of a switch or an operator. One direction of a cable; say both when both are meant.
struct LinkReported {
  LinkId link;
  double health = 1;   // fraction of the capacity that is left; 0 = down
  std::string source;  // its source
};

using PathEvent = std::variant<PathsRequested, LeasesRenewed, ConnectionsReleased, LeasesAnnounced, ProbeRoundFinished,
                               PortsScanned, LinkReported, QueuePairOpened>;

// ---- Answers and actions ----

struct QueuePairAnswer {
  enum class Kind : uint8_t {
    kUse,        // leave by `plane` from `port`: that leads over `path`
    kScan,       // `path` is reserved; the port that leads there is being looked for. `port`: the last one, 0 = none
    kNoPort,     // `path` is reserved, but no free port leads there: go on as it is
    kUnmanaged,  // no healthy path: go on by the fabric's own hash; asked again when links return
  };
  Kind kind = Kind::kUnmanaged;
  uint32_t plane = 0;
  uint32_t path = 0;  // index among those of the two leaves (PathCatalogue)
  uint16_t port = 0;
  uint64_t epoch = 0;  // an answer of an older epoch is void

  friend bool operator==(const QueuePairAnswer&, const QueuePairAnswer&) = default;
};
std::string_view Name(QueuePairAnswer::Kind kind);  // "use", "scan", "no port", "unmanaged"

struct ConnectionAnswer {
  uint64_t connection = 0;
  // Why there is nothing, or not for all queue pairs; empty when there is. One that names bad input comes without
  // queue pairs.
  std::string reason;
  std::vector<QueuePairAnswer> queue_pairs;  // [queue pair]

  friend bool operator==(const ConnectionAnswer&, const ConnectionAnswer&) = default;
};

struct PathsGranted {
  uint64_t request = 0;
  LeaseId lease;
  SimDuration ttl;
  std::vector<ConnectionAnswer> connections;  // [of the request]
};

// Why a queue pair's answer changed; from kPortFound on its path is what it was.
enum class MoveCause : uint8_t {
  kLinkDown,       // its path was lost
  kLinkBack,       // a link came back, and takes its share
  kLinkDegraded,   // a link lost capacity, and sheds what is over its share
  kImbalance,      // links were unevenly used for too long
  kPathAvailable,  // there was none, and now there is
  kStranded,       // there is none any more
  kPortFound,      // the port of the path that it has
  kRepinned,       // same path; the fabric hashes its old port elsewhere now
  kNoPort,         // every free port leads elsewhere
  kCorrected,      // its holder announced something else than what is reserved
};
inline constexpr size_t kNumMoveCauses = 10;
std::string_view Name(MoveCause cause);  // "link down", …

struct PathMove {
  JobId job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  QueuePairAnswer answer;
  MoveCause cause = MoveCause::kLinkDown;

  friend bool operator==(const PathMove&, const PathMove&) = default;
};
// To be applied between messages, never inside one.
struct PathsMoved {
  HostId host;
  std::vector<PathMove> moves;
};

// Send probes with these source ports, and tell where they went (PortsScanned).
struct PortScan {
  NicId source;
  NicId destination;
  uint32_t plane = 0;
  uint8_t protocol = 17;
  uint16_t destination_port = 4791;
  uint64_t epoch = 0;
  std::vector<uint16_t> ports = {};

  friend bool operator==(const PortScan&, const PortScan&) = default;
};
struct ScanPorts {
  HostId host;
  std::vector<PortScan> scans;
};

// It was not renewed: all its reservations are free again.
struct LeaseExpired {
  LeaseId lease;
  uint64_t num_queue_pairs = 0;
};

// The host holds other leases than we know: it should announce them (LeasesAnnounced).
struct AnnouncementWanted {
  HostId host;
};

struct LinkStateChanged {
  LinkId link;
  LinkState from = LinkState::kUp;
  LinkState to = LinkState::kUp;  // the same as `from` where only the capacity changed
  double health = 1;              // fraction of the capacity that is left; 0 unless the link carries paths
  std::string reason;
};

struct ProbeTask {
  ProbePair pair;
  uint64_t epoch = 0;
};
struct ProbeRoundStarted {
  uint64_t round = 0;
  std::vector<ProbeTask> tasks;
};

// An event that can't be right; it changed nothing.
struct EventRejected {
  std::string reason;
};

using PathAction = std::variant<PathsGranted, PathsMoved, ScanPorts, LeaseExpired, AnnouncementWanted, LinkStateChanged,
                                ProbeRoundStarted, EventRejected>;

}  // namespace fairlead::traffic
