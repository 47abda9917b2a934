// The controller of running jobs' traffic: messages of agents in, paths and levels out.
//
// Jobs are started by others (Slurm, Kubernetes, the lab); this core learns of a job when one of its processes wants a
// path, and forgets it when the last lease is gone. It joins the path service, the policy that orders jobs, and what
// agents have measured. No thread, socket, clock or disk.
//
//     StreamMessage, StreamEnded,          +--> PathService (paths, ports, leases, links)
//     LinkHealthReported, … -> Handle() -+-> TrafficPolicy (levels, from measured jobs on these paths)
//                               |
//                               +--> SendToStream, EndStream, RecordChanged, Noted, ProcessesLooked, …
//
// What it consists of, each with a state of its own; none knows the whole, and only this class calls the path service:
//
//     agent_streams    who speaks on which stream           path_batch      what the path service is told next
//     announcements    which hosts are asked what they hold path_requests   questions for paths, and their answers
//     job_table        names, numbers, levels, connections  port_moves      open queue pairs that change their port
//     level_planner    measurements, and who goes first     probe_rounds    orders to probe, and what came of them
//     link_reports     what operators say of links          host_testing    what agents test of hosts
//     traffic_outputs  all that is decided, in order
//
// Problem     agents speak of addresses and names, come and go, and may be wrong or hostile; the path service and the
//             policy speak of a fabric, and trust their input.
// Method      inputs are taken in their order, each by the component that it is for. What looks at the results of
//             earlier words of the same host waits until the path service has heard these (Flush); everything else
//             goes to it together. What a host no longer holds is struck from all components at once (Remove).
// Guarantees  same inputs, same outputs. Nothing is sent to a stream after its end. No agent changes what another
//             host holds. An open TCP queue pair is assigned a port only when the other end rewrites it. After a
//             restart from the kept records, once agents have announced: the same job numbers, reservations and
//             levels, and the same reported links.
// Cost        a path request O(log of addresses, jobs and connections) beside the path service's. Planning levels:
//             O(links + links of all paths) and the policy's, at most once per level_period. See BM_Controller….
// Size        its members are those parts, and what they look at.
// Limits      what probes have shown of links is not kept: after a restart they have to show it again.
// Differs     the papers have one process per job speak for it; here a job is what its hosts' agents say of it.
// Reference   Dong et al., C4, HPCA 2025; Cao et al., Crux, SIGCOMM 2024, section 5; spec c4.md 9, crux.md.
// Oracle      traffic_controller_laws_test.cc: random agents, links and restarts over a fabric that hashes.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/agent_streams.h"
#include "controller/agent_words.h"
#include "controller/announcements.h"
#include "controller/host_testing.h"
#include "controller/job_table.h"
#include "controller/level_planner.h"
#include "controller/link_reports.h"
#include "controller/path_batch.h"
#include "controller/path_requests.h"
#include "controller/port_moves.h"
#include "controller/probe_rounds.h"
#include "controller/traffic_controller_options.h"
#include "controller/traffic_messages.h"
#include "controller/traffic_outputs.h"
#include "controller/traffic_views.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"
#include "traffic/steady_time.h"
#include "traffic/traffic_policy.h"

namespace fairlead::controller {

class TrafficController {
 public:
  // The references must outlive this. Args: options valid.
  TrafficController(const topology::Fabric& fabric, const topology::AddressBook& addresses, traffic::PathService& paths,
                    const traffic::TrafficPolicy& levels, const TrafficControllerOptions& options);

  TrafficController(const TrafficController&) = delete;
  TrafficController& operator=(const TrafficController&) = delete;

  // Takes up what an earlier controller has kept (RecordChanged), before the first Handle(). Keys of others are
  // ignored.
  // Errors: kDataLoss: a record that can't be read, naming its key.
  Status Restore(std::span<const std::pair<std::string, std::string>> records);

  // Handles inputs of one moment in their order, and what time has brought. An empty call is a tick, and there should be
  // one at least each second. Args: clock, which may jump.
  std::vector<TrafficOutput> Handle(SimTime clock, std::span<const TrafficInput> inputs);

  std::vector<HostView> Hosts() const { return ViewHosts(fabric_, streams_); }
  std::vector<JobOnFabric> Jobs() const { return ViewJobs(fabric_, paths_, jobs_, levels_); }
  std::vector<QueuePairOnFabric> QueuePairs() const { return ViewQueuePairs(paths_, jobs_, moves_); }
  std::vector<JobPaths> Paths() const { return ViewJobPaths(fabric_, paths_, jobs_); }
  std::vector<LinkOnFabric> Links() const { return ViewLinks(fabric_, paths_); }
  // Of hosts, oldest first.
  const std::deque<NodeCheckView>& Checks() const { return testing_.checks().views(); }
  // Why a check can't begin now; empty: it can.
  std::string FindFault(const NodeCheckRequest& request) const { return testing_.checks().FindFault(request); }

 private:
  void Take(const StreamMessage& input);
  void Take(const StreamEnded& input);
  void Take(const LinkHealthReported& input) { reports_.Take(input); }
  void Take(const JudgementChanged& input) { streams_.Judge(input.host, input.judged); }
  void Take(const NodeCheckRequested& input) { testing_.Begin(time_.now(), time_.clock(), input.request); }
  void Take(const SlowEndQuestion& input) { testing_.Ask(time_.now(), input); }
  void Welcome(StreamId stream, const HostHello& hello);

  // Of the agent of a host.
  void Hear(HostId host, const HostHello& message);
  void Hear(HostId host, const Heartbeat& message);
  void Hear(HostId host, const PathsWanted& message);
  void Hear(HostId host, const ConnectionOpened& message);
  void Hear(HostId host, const ConnectionsClosed& message);
  void Hear(HostId host, const ConnectionsHeld& message);
  void Hear(HostId host, const AnnouncementFinished& message);
  void Hear(HostId host, const ProbesFinished& message);
  void Hear(HostId host, const ArrivalPrepared& message) { moves_.Hear(host, message); }
  void Hear(HostId host, const MoveRefused& message) { moves_.Hear(host, message); }
  void Hear(HostId host, const JobMeasured& message);
  void Hear(HostId host, const ProcessesSeen& message) { outputs_.Add(ProcessesLooked{host, message}); }
  void Hear(HostId host, const HostTestReady& message) { testing_.Hear(host, message); }
  void Hear(HostId host, const HostTestDone& message) { testing_.Hear(host, message); }
  void ReleaseOthers(JobId job, HostId host, std::span<const traffic::HeldConnection> announced);
  void TakeHeld(JobId job, HostId host, const traffic::HeldConnection& held, const std::vector<uint16_t>& socket_ports);
  // Of a host's share: what was not named, and what the path service does not have.
  void StrikeAllBut(JobId job, HostId host, const std::set<uint64_t>& named);
  // Reports the ports of announced connections, and moves those that use others than were answered.
  void CorrectPorts(JobId job, HostId host, std::span<const HeldConnection* const> held);

  // Passes the batch to the path service, and carries out what that wants.
  void Flush();
  void Carry(traffic::PathsGranted& action) { requests_.Answer(action); }
  void Carry(const traffic::PathsMoved& action);
  void Carry(const traffic::ScanPorts& action) { probes_.Order(action); }
  void Carry(const traffic::LeaseExpired& action);
  void Carry(const traffic::AnnouncementWanted& action) { announcements_.AskFor(action.host); }
  void Carry(const traffic::LinkStateChanged& action);
  void Carry(const traffic::ProbeRoundStarted& action) { probes_.Begin(action, time_.now()); }
  void Carry(const traffic::EventRejected& action);
  void FinishRounds();
  void EndRestoring();
  void TellAnswers();
  void PlanLevels();

  // Args: connections: a copy of the share's is fine.
  void Remove(JobId job, HostId host, std::span<const uint64_t> connections,
              PortMoves::Arrivals arrivals = PortMoves::Arrivals::kForgotten);
  void RemoveShare(JobId job, HostId host, PortMoves::Arrivals arrivals = PortMoves::Arrivals::kForgotten);
  void ForgetIfUnused(JobId job);

  const topology::Fabric& fabric_;
  traffic::PathService& paths_;
  traffic::SteadyTime time_;
  // In the order in which they need one another.
  TrafficOutputs outputs_;
  const AgentWords words_;
  AgentStreams streams_;
  Announcements announcements_;
  JobTable jobs_;
  HostTesting testing_;
  PathBatch batch_;
  PathRequests requests_;
  PortMoves moves_;
  ProbeRounds probes_;
  LinkReports reports_;
  LevelPlanner levels_;
  // Whose agents were refused since the watch over jobs was last told of such, and when it is told again.
  std::set<HostId> answered_;
  SimTime tell_answers_at_;
};

}  // namespace fairlead::controller
