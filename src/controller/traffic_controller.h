// The controller of running jobs' traffic: messages of agents in, paths and levels out.
//
// Jobs are started by others (Slurm, Kubernetes, the lab); this core learns of a job when one of its processes wants a
// path, and forgets it when the last lease is gone. It joins the path service, the policy that orders jobs, and what
// agents have measured. No thread, socket, clock or disk.
//
//     StreamMessage, StreamEnded,          +--> PathService (paths, ports, leases, links)
//     LinkHealthReported --> Handle() --+--> TrafficPolicy (levels, from measured jobs on these paths)
//                               |
//                               +--> SendToStream, EndStream, RecordChanged, Noted, ProcessesLooked
//
// Problem     agents speak of addresses and names, come and go, and may be wrong or hostile; the path service and the
//             policy speak of a fabric, and trust their input. A TCP connection breaks when its packets arrive with a
//             port that its socket does not know.
// Method      stream   the hello binds a stream to a host; all messages are checked against that host, and dropped with
//                      a note when they are not its own
//             job      a name gets a number, which is kept and never given to another
//             move     an open queue pair of TCP: first its destination is asked to rewrite the new port
//                      (PrepareArrival), then, when it has, the source is asked to use it. Whatever comes in between
//                      (another move, an error, silence) leaves the source where it is and the destination as it was
//             level    per host what it measured, smoothed; per job: work summed (hosts that have not measured yet
//                      count as the mean of those that have), times the median of hosts, bytes by connection; one flow
//                      for each queue pair that has a path; then the policy orders the measured jobs,
//                      and turns their order only by more than their priorities were seen to vary (priority_spread.h)
// Guarantees  same inputs, same outputs. Nothing is sent to a stream after its end. No agent changes what another host
//             holds. An open TCP queue pair is assigned a port only when the other end rewrites it. After a restart
//             from the kept records, once agents have announced: the same job numbers, reservations and levels, and the
//             same reported links.
// Cost        a path request O(log of addresses, jobs and connections) beside the path service's. Planning levels:
//             O(links + links of all paths) and the policy's, at most once per level_period. See BM_Controller….
// Limits      what probes have shown of links is not kept: after a restart they have to show it again.
// Differs     the papers have one process per job speak for it; here a job is what its hosts' agents say of it.
// Reference   Dong et al., C4, HPCA 2025; Cao et al., Crux, SIGCOMM 2024, section 5; spec c4.md 9, crux.md.
// Oracle      traffic_controller_laws_test.cc: random agents, links and restarts over a fabric that hashes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/host_messages.h"
#include "controller/priority_spread.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "topology/router.h"
#include "traffic/path_service.h"
#include "traffic/steady_time.h"
#include "traffic/traffic_policy.h"

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
using TrafficInput = std::variant<StreamMessage, StreamEnded, LinkHealthReported, JudgementChanged>;

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
using TrafficOutput = std::variant<SendToStream, EndStream, RecordChanged, Noted, ProcessesLooked>;

struct TrafficControllerOptions {
  std::string version;  // of this program, for people
  // > 0. Shorter: dead hosts are noticed sooner, for more messages.
  SimDuration heartbeat_period = SimDuration(5'000'000'000);
  SimDuration lease_ttl = SimDuration(60'000'000'000);  // that of the path service, for Welcome
  uint32_t num_levels = 8;                              // 1 .. 8
  // False: all jobs stay on the last level; their measurements are still shown.
  bool sets_levels = true;
  // Weight of a new measurement of a job in its smoothed value; (0, 1]. Smaller: levels are calmer, and follow later.
  double measurement_weight = 0.5;
  // (0, 0.5]: the chance with which noise alone may turn the order of two jobs at a measurement. Smaller: levels are
  // calmer, and jobs that are nearly alike stay as they are.
  double order_error_probability = 1e-3;
  // > 0: how often levels may be planned again.
  SimDuration level_period = SimDuration(2'000'000'000);
  uint64_t random_seed = 1;  // for policies that sample
  // > 0. How long a host may take to prepare an arrival, after which the queue pair stays where it is.
  SimDuration arrival_timeout = SimDuration(2'000'000'000);
  // > 0. How long a round of probes waits for its hosts. Longer: slow answers still tell of links; shorter: faults are
  // seen sooner.
  SimDuration probe_timeout = SimDuration(4'000'000'000);
  // What rounds of probes pretend to be: that of the jobs' connections (6: TCP, 17: RoCE).
  uint8_t probe_protocol = 6;
  uint16_t probe_destination_port = 4791;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// ---- What people are shown ----
struct HostView {
  std::string name;
  bool is_connected = false;
  std::string agent_version;
  SimTime last_message;
};
struct JobOnFabric {
  std::string name;
  uint32_t level = 0;
  std::string reason;  // of the level
  uint32_t num_hosts = 0;
  uint32_t num_connections = 0;
  uint32_t num_unmanaged = 0;  // queue pairs without a path of ours
  uint32_t num_gpus = 0;       // as far as hosts have measured it
  std::optional<Seconds> iteration_time;
  std::optional<Seconds> fastest_iteration;  // since this controller measures the job
  std::optional<FlopPerSecond> intensity;
  LinkId fullest_link;                   // of the network, of those on its paths; invalid: it has none
  std::vector<std::string> shares_with;  // names of the other jobs there

  // GPUs' worth of time that the job loses at present, against its fastest iteration; nothing: not known.
  std::optional<double> lost_gpus() const {
    if (!iteration_time || !fastest_iteration) return std::nullopt;
    return num_gpus * std::max(0.0, 1 - *fastest_iteration / *iteration_time);
  }
};
struct QueuePairOnFabric {
  std::string job;
  uint64_t connection = 0;
  uint32_t queue_pair = 0;
  NicId source;
  NicId destination;
  traffic::QueuePairAnswer answer;
  uint16_t wire_port = 0;  // that its packets have; 0: not open. Another one than the answer's: it is to be moved
  std::vector<LinkId> links;
};
struct LinkOnFabric {
  LinkId link;
  traffic::LinkState state = traffic::LinkState::kUp;
  double health = 1;
  uint32_t num_queue_pairs = 0;
  double load = 0;  // sum of weights
};

class TrafficController {
 public:
  // The references must outlive this. Args: options valid.
  TrafficController(const topology::Fabric& fabric, const topology::AddressBook& addresses, traffic::PathService& paths,
                    const traffic::TrafficPolicy& levels, TrafficControllerOptions options);

  TrafficController(const TrafficController&) = delete;
  TrafficController& operator=(const TrafficController&) = delete;

  // Takes up what an earlier controller has kept (RecordChanged), before the first Handle(). Keys of others are
  // ignored.
  // Errors: kDataLoss: a record that can't be read, naming its key.
  Status Restore(std::span<const std::pair<std::string, std::string>> records);

  // Handles inputs of one moment in their order, and what time has brought. An empty call is a tick, and there should be
  // one at least each second. Args: clock, which may jump.
  std::vector<TrafficOutput> Handle(SimTime clock, std::span<const TrafficInput> inputs);

  std::vector<HostView> Hosts() const;
  std::vector<JobOnFabric> Jobs() const;
  std::vector<QueuePairOnFabric> QueuePairs() const;
  std::vector<LinkOnFabric> Links() const;  // between switches, and of NICs: what the network is made of

 private:
  struct Stream {
    HostId host;  // invalid before its hello
    bool is_closed = false;
  };
  struct Host {
    std::optional<StreamId> stream;
    std::string agent_version;
    SimTime last_message;
    uint64_t passed_on_in = 0;   // the flush that takes its last message
    std::set<JobId> jobs;        // with a share here
    bool is_announcing = false;  // its state was requested, and is not complete yet
    std::set<JobId> announced;   // since it was asked
    HostJudged judged;
  };
  struct Connection {
    HostId host;
    traffic::ConnectionRequest request;
    std::vector<uint16_t> socket_ports;  // [queue pair]; 0: not open
  };
  // What a host has measured of a job, smoothed.
  // Per second where it can be: hosts that see different iterations in the same traffic (two as one) agree on that.
  struct Measurement {
    uint32_t num_gpus = 0;
    Seconds iteration_time;
    double compute_share = 0;  // of iteration_time
    bool is_period_known = true;
    double start_fraction = 1;
    FlopPerSecond work;
    std::map<uint64_t, BytesPerSecond> bytes;  // [connection]
  };
  // What a job has on a host: one lease.
  struct Share {
    std::set<uint64_t> connections;
    std::optional<Measurement> measured;
  };
  struct Job {
    std::string name;
    uint32_t level = 0;
    std::string reason;
    bool is_restored = false;
    uint32_t num_pending = 0;  // requests of the service until the next flush
    std::map<HostId, Share> shares;
    std::unordered_map<uint64_t, Connection> connections;
    std::optional<FlopPerSecond> intensity;
    std::optional<Seconds> fastest_iteration;
    PrioritySpread spread;
    bool is_measured_anew = false;  // since levels were planned
    uint64_t paths_hash = 0;        // of the paths that `spread` is of

    bool is_measured_by_all() const {
      return std::ranges::all_of(shares, [](const auto& share) { return share.second.measured.has_value(); });
    }
  };
  struct QueuePairKey {
    JobId job;
    uint64_t connection = 0;
    uint32_t queue_pair = 0;

    friend auto operator<=>(const QueuePairKey&, const QueuePairKey&) = default;
  };
  // A queue pair whose packets arrive, or shall arrive, with another port from its socket's.
  struct Arrival {
    struct Wanted {
      traffic::QueuePairAnswer answer;
      traffic::MoveCause cause = traffic::MoveCause::kLinkDown;
    };
    HostId from;
    HostId to;
    PrepareArrival order;            // the last one
    uint16_t wire_port = 0;          // in force: what the source uses
    uint32_t num_unanswered = 0;     // orders on the present stream
    std::optional<Wanted> wanted;    // a move that is not sent yet
    SimTime due = SimTime::Never();  // of the answer
    uint16_t refused_port = 0;       // the last one, by either end
    uint32_t num_refusals = 0;       // of that
  };
  struct Request {
    StreamId stream;
    JobId job;
    PathsAnswered answer;                           // with errors that need no request
    std::vector<size_t> places;                     // [connection that the service is asked for] -> place in the answer
    std::vector<traffic::ConnectionRequest> asked;  // likewise
  };
  struct ProbeRound {
    SimTime due;
    std::set<HostId> waiting_for;
    std::vector<traffic::PortScanSeen> scans;
  };

  // traffic_controller.cc: inputs in, actions of the path service out.
  void Take(const StreamMessage& input);
  void Take(const StreamEnded& input);
  void Take(const LinkHealthReported& input);
  void Take(const JudgementChanged& input);
  void Pass(traffic::PathEvent event) { events_.push_back(std::move(event)); }
  void PassOn(HostId host, traffic::PathEvent event);
  // A queue pair whose packets carry this port.
  void PassPort(const QueuePairKey& key, HostId host, uint16_t port, uint16_t socket_port);
  bool IsWaiting(HostId host) const { return hosts_[host].passed_on_in == num_flushes_ + 1; }
  void Flush();
  // Gives rounds their probes, which the path service has taken ports from. Args: flushed: what events_ were.
  void KeepProbes(std::span<traffic::PathEvent> flushed);
  void Carry(traffic::PathsGranted& action);
  void Carry(const traffic::PathsMoved& action);
  void Carry(const traffic::ScanPorts& action);
  void Carry(const traffic::LeaseExpired& action);
  void Carry(const traffic::AnnouncementWanted& action);
  void Carry(const traffic::LinkStateChanged& action);
  void Carry(const traffic::ProbeRoundStarted& action);
  void Carry(const traffic::EventRejected& action);
  std::string FirstReason() const;
  void KeepReport(const LinkHealthReported& report);
  Status RestoreJob(const std::string& key, const std::string& value);
  Status RestoreReport(const std::string& key, const std::string& value);
  void Note(Noted::Severity severity, std::string subject, std::string text);
  void Object(HostId host, std::string text);

  // traffic_controller_streams.cc: senders of messages.
  void Welcome(StreamId stream, const HostHello& hello);
  std::string FindFault(const HostHello& hello) const;
  void Refuse(StreamId stream, std::string reason);
  void Say(StreamId stream, ToAgent message);
  bool IsConnected(HostId host) const { return hosts_[host].stream.has_value(); }
  void SendTo(HostId host, ToAgent message);  // dropped without a stream

  // traffic_controller_jobs.cc: what hosts hold.
  void Hear(HostId host, const HostHello& message);
  void Hear(HostId host, const Heartbeat& message);
  void Hear(HostId host, const ProcessesSeen& message) { outputs_.emplace_back(ProcessesLooked{host, message}); }
  void Hear(HostId host, const PathsWanted& message);
  void Hear(HostId host, const ConnectionOpened& message);
  void Hear(HostId host, const ConnectionsClosed& message);
  void Hear(HostId host, const ConnectionsHeld& message);
  void Hear(HostId host, const AnnouncementFinished& message);
  void AskForAnnouncement(HostId host);
  std::string Translate(HostId host, const WantedConnection& wanted, traffic::ConnectionRequest* request) const;
  std::string TranslateHeld(HostId host, const HeldConnection& held, traffic::ConnectionRequest* request) const;
  void TakeHeld(JobId job, HostId host, const traffic::HeldConnection& held, const std::vector<uint16_t>& socket_ports);
  void ReleaseOthers(JobId job, HostId host, std::span<const traffic::HeldConnection> announced);
  void StrikeAllBut(JobId job, HostId host, const std::set<uint64_t>& named);
  std::optional<JobId> FindJob(const std::string& name) const;
  std::optional<JobId> Intern(const std::string& name);
  void KeepRecord(JobId id, const Job& job);
  void AddConnection(JobId id, HostId host, const traffic::ConnectionRequest& request);
  // What destinations rewrite for connections that are removed: it goes, or stays while they see the socket.
  enum class Arrivals : uint8_t { kForgotten, kLeft };
  // Args: connections: a copy of the share's is fine.
  void Remove(JobId id, HostId host, std::span<const uint64_t> connections, Arrivals arrivals = Arrivals::kForgotten);
  void RemoveShare(JobId id, HostId host, Arrivals arrivals = Arrivals::kForgotten);
  void ForgetIfUnused(JobId id);
  const Connection* FindConnection(JobId id, HostId host, uint64_t connection) const;
  Connection* FindConnection(JobId id, HostId host, uint64_t connection);
  const Share* FindShare(JobId id, HostId host) const;
  bool IsOwn(HostId host, const IpAddress& address) const;

  // traffic_controller_probes.cc.
  void Hear(HostId host, const ProbesFinished& message);
  std::string Translate(HostId host, const PortScanSeen& seen, traffic::PortScanSeen* translated) const;
  void FinishRounds();

  // traffic_controller_moves.cc: queue pairs that change their port.
  void Hear(HostId host, const ArrivalPrepared& message);
  void Hear(HostId host, const MoveRefused& message);
  void NoteImmovable(const traffic::PathsMoved& action);
  uint16_t WirePortOf(const QueuePairKey& key, uint16_t socket_port) const;
  uint16_t WirePortOf(const traffic::HeldQueuePair& held) const;
  Arrival& ArrivalOf(const QueuePairKey& key, const Connection& connection);
  void TakeHeldPort(const QueuePairKey& key, const Connection& connection, const traffic::HeldPath& held);
  // Moves a queue pair that does not use the port of its answer. Args: held_port: the port that its host reports in
  // use, or would use.
  void MoveIfNeeded(const QueuePairKey& key, const Connection& connection, uint16_t held_port);
  void BeginMove(const QueuePairKey& key, const Connection& connection, const Arrival::Wanted& wanted);
  void CancelMove(const QueuePairKey& key);
  void Order(Arrival* arrival, uint16_t wire_port);
  void OrderWanted(Arrival* arrival);
  void FinishMove(const QueuePairKey& key, Arrival* arrival);
  void DropArrival(const QueuePairKey& key, Arrivals arrivals = Arrivals::kForgotten);
  void RenewArrivals(HostId to);
  void LoseArrivals(HostId to);
  void EndOverdueMoves();
  // An end has refused a port. Returns what happens now, for people.
  std::string TryAgainLater(const QueuePairKey& key, Arrival* arrival, uint16_t port);
  void RetryMoves();

  // traffic_controller_levels.cc: priorities. A job as the policy shall see it.
  struct MeasuredJob {
    JobId id;
    uint32_t num_gpus = 0;
    Seconds iteration_time;
    bool is_period_known = true;
    std::map<uint64_t, BytesPerSecond> bytes;  // [connection]
    model::Iteration actual;                   // endpoints only
    std::vector<Bytes> flow_bytes;             // [flow]
    std::vector<model::Path> paths;            // [flow]
    model::Iteration iteration;
  };
  void Hear(HostId host, const JobMeasured& message);
  void RememberFastest(const std::map<JobId, Measurement>& sums);
  std::string FindFault(const JobMeasured& message) const;
  void PlanLevels();
  // Those that have been measured and have a path, by id.
  std::vector<MeasuredJob> CollectMeasuredJobs(const std::map<JobId, Measurement>& sums) const;
  void AddFlow(const traffic::HeldQueuePair& held, MeasuredJob* job) const;
  GpuId GpuBeside(NicId nic) const;
  // The combined measurements of all hosts, without the bytes; nothing: no host has measured.
  std::optional<Measurement> Sum(const Job& job) const;
  // Of all jobs that a host has measured.
  std::map<JobId, Measurement> SumAll() const;
  // Of a job on these paths.
  double PriorityUncertainty(const MeasuredJob& measured);
  void NoteIntensities(const traffic::TrafficSnapshot& snapshot);
  void SetLevel(JobId id, uint32_t level, const std::string& reason);

  std::string HostSubject(HostId host) const { return "host " + fabric_.HostName(host); }

  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
  traffic::PathService& paths_;
  const traffic::TrafficPolicy& policy_;
  const TrafficControllerOptions options_;
  topology::Router router_;
  topology::LinkHealth health_;
  bool is_router_stale_ = false;
  std::map<LinkId, double> reported_;  // health of links reported as degraded; saved

  SimTime clock_;
  traffic::SteadyTime time_;
  std::map<StreamId, Stream> streams_;
  IdVector<HostId, Host> hosts_;
  std::map<JobId, Job> jobs_;
  std::unordered_map<std::string, JobId> job_ids_;
  uint32_t next_job_ = 0;
  bool has_restored_ = false;  // jobs not announced yet

  std::map<uint64_t, Request> requests_;  // asked of the service, until the next flush
  uint64_t num_requests_ = 0;
  std::map<uint64_t, ProbeRound> rounds_;

  std::map<QueuePairKey, Arrival> arrivals_;
  std::unordered_map<uint64_t, QueuePairKey> by_alias_;
  std::map<HostId, std::set<QueuePairKey>> arrivals_at_;
  std::deque<std::pair<SimTime, QueuePairKey>> due_arrivals_;  // in order of time; some are answered
  std::set<std::pair<SimTime, QueuePairKey>> moves_to_retry_;

  bool are_levels_stale_ = false;
  size_t num_measured_shares_ = 0;
  SimTime next_level_plan_;

  // Until the next flush. Releases go first: a caller with other pending messages flushes before it sends one.
  std::vector<traffic::PathEvent> releases_;
  std::vector<traffic::PathEvent> events_;
  std::vector<traffic::PathEvent> opened_;  // after all others: they would part requests that are placed together
  std::vector<std::pair<size_t, uint64_t>> scanned_;  // of events_: those with probes of a round, and which round
  uint64_t num_flushes_ = 0;
  std::vector<TrafficOutput> outputs_;
};

}  // namespace fairlead::controller
