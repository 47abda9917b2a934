// The agent of a host: between the training processes that open connections, the controller that knows the paths, and
// the kernel that carries them.
//
//     process asks -> PathsWanted -> PathsAnswered: a port is known ----------------------> port and class
//                          |              a port must be looked for -> ProbesWanted, PathsChanged in time --^
//                          |                                                    too late: class only, moved later
//                          +-> no answer in time, no controller, no path: class only
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     connection_table     what was opened here           connection_reporter  what the controller is told of it
//     process_questions    who waits for which answer     controller_stream    whether the controller listens
//     departure_moves      ports after sockets here       arrival_table        ports before sockets here
//     socket_classes       levels, classes of sockets     accepted_sockets     the other sockets of training
//     training_addresses   what concerns training         socket_look          what the kernel lists
//     rewrite_orders       what the kernel is to rewrite  probe_dispatcher     probes that are wanted
//     job_meter            what jobs send and compute     process_reporter     what processes are doing
//     host_tests           tests that are wanted          agent_outbox         all that is decided, in order
//
// Problem     a process waits for milliseconds at most, whatever the controller does; the controller may forget, repeat
//             and contradict itself; and nothing may break an established connection.
// Method      a state machine without thread, socket, clock or disk. Events are taken in their order, each by the
//             component that it is for; what concerns several is done here, above all the end of a connection, which
//             is struck from all at once (CloseAll). While the controller is away levels and connections stay as they
//             are, new connections get the class of their job, and are asked after when it returns. The same while it
//             is stopped: from a question that it left unanswered until its next message, processes do not wait for it.
//             Destinations that are no training NIC are left alone, and remembered for a while.
// Way back    a connection that this host accepted is the sender's to steer. If it turns out to send data from here,
//             that is a separate connection, which already has its port.
// Unasked     a process that got no answer (no agent was there, or it was killed before it kept it) has connections all
//             the same. The kernel's list shows them: their owners are looked up once, and those of training processes
//             are treated as if accepted here.
// Order       the controller learns of this end of an established connection only when the state with it is saved:
//             what the controller knows, the next agent knows. Of ports that are rewritten the kernel's tables know
//             better than the state.
// Moves       an established connection is moved by rewriting its source port: here after the socket (departure), at
//             the other end before it (arrival), which the controller has prepared first.
// Guarantees  each question has one answer, at its deadline at the latest. A port is given only to the connection
//             that it was meant for, and not while packets of another one to the same place carry it. No list of closed
//             connections is empty by accident (which would close all). Same events, same actions.
// Size        its members are those parts, and what its last look at the sockets has shown.
// Reference   Dong et al., C4, HPCA 2025, and Cao et al., Crux, SIGCOMM 2024; specification c4.md, sections 9 and 12.
// Oracle      host_agent_laws_test.cc: random events that contradict one another.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/accepted_sockets.h"
#include "agent/agent_outbox.h"
#include "agent/agent_state.h"
#include "agent/arrival_table.h"
#include "agent/connection_reporter.h"
#include "agent/connection_table.h"
#include "agent/controller_stream.h"
#include "agent/departure_moves.h"
#include "agent/host_agent_messages.h"
#include "agent/host_tests.h"
#include "agent/job_meter.h"
#include "agent/probe_dispatcher.h"
#include "agent/process_questions.h"
#include "agent/process_reporter.h"
#include "agent/rewrite_orders.h"
#include "agent/socket_classes.h"
#include "agent/socket_look.h"
#include "agent/training_addresses.h"
#include "base/sim_time.h"

namespace fairlead::agent {

struct HostAgentOptions {
  std::string host;             // as the fabric names it
  std::string version;          // of this program, for people
  std::vector<IpAddress> nics;  // training NICs of this host
  // How long a process may wait. Longer: more connections get their port at once; must stay below what the library
  // waits for (20 ms).
  SimDuration answer_deadline = SimDuration(15'000'000);
  // The same about a queue pair, of which nothing can be changed later; below what the library waits for (500 ms).
  SimDuration queue_pair_deadline = SimDuration(450'000'000);
  SimDuration stranger_memory = SimDuration(60'000'000'000);
  // How long the oldest of too many ports of an arrival stays. Longer than the controller waits for a move that comes to
  // nothing (2 s).
  SimDuration arrival_linger = SimDuration(5'000'000'000);
  // How long a port that packets of a connection had on the wire is given to no other one to the same place: their
  // destination may still rewrite it. Longer: destinations may be away for longer; shorter: ports are free again sooner.
  SimDuration port_rest = SimDuration(60'000'000'000);
  uint32_t num_connections_max = 65'536;  // likewise of accepted ones and aliases
  ProbeScheduleOptions probes;
  JobMeterOptions meter;
  bool keeps_state = false;  // a StateKept follows each new revision()
  uint64_t random_seed = 1;  // another one each time
};

class HostAgent {
 public:
  // Args: kept: state saved by the previous agent, empty when there was none. installed: the connections that the kernel
  // rewrites for the previous agent, and to which port.
  HostAgent(const HostAgentOptions& options, const AgentState& kept, SimTime now,
            const std::map<RewriteRule, uint16_t>& installed = {});
  HostAgent(const HostAgent&) = delete;
  HostAgent& operator=(const HostAgent&) = delete;

  // Handles events of one moment in their order, and what time has brought. Time never runs backwards.
  std::vector<HostAction> Handle(SimTime now, std::span<const HostEvent> events);
  // Sums of counters of this host's GPUs, all jobs.
  void CountGpus(SimTime at, std::span<const GpuSums> sums) { meter_.AddGpus(at, sums); }
  // When an empty call would do something.
  SimTime NextDue() const;

  AgentState State() const;
  // Rises whenever State() has changed.
  uint64_t revision() const { return outbox_.revision(); }
  bool is_welcome() const { return outbox_.is_welcome(); }
  size_t num_connections() const { return connections_.size(); }
  size_t num_aliases() const { return arrivals_.size(); }
  // Of established connections, whose bytes are counted.
  std::vector<SocketPair> OpenSockets() const { return connections_.OpenSockets(); }

 private:
  using Connection = ConnectionTable::Connection;
  using Stage = Connection::Stage;

  void Take(const PathRequested& event);
  void Take(const PathRequestOutcome& event);
  void Take(const ProcessLeft& event);
  void Take(const StreamOpened&) { stream_.Open(); }
  void Take(const StreamBroken&);
  void Take(const MessageFromController& event);
  void Take(const ProbesDone& event) { probes_.Take(event); }
  void Take(const RewriteDone& event);
  void Take(const SocketsSeen& event);
  void Take(const BytesSeen& event) { CountBytes(event.asked_at, event.sockets); }
  void Take(const ProcessEnded& event);
  void Take(const OwnersFound& event) { accepted_.TakeOwners(event); }
  void Take(const StateKept& event) { connection_reporter_.TakeKept(event.revision); }
  void Take(const SegmentsSeen& event);
  void Take(const HostTestListens& event) { tests_.Take(event); }
  void Take(const HostTestEnded& event) { tests_.Take(event); }
  void TakeTime();

  // Of the controller.
  void Hear(const controller::Welcome& message);
  void Hear(const controller::Refused& message) { stream_.Hear(message); }
  void Hear(const controller::PathsAnswered& message);
  void Hear(const controller::PathsChanged& message);
  void Hear(const controller::ProbesWanted& message) { probes_.Take(message); }
  void Hear(const controller::PrepareArrival& message) { arrivals_.Prepare(message, seen_); }
  void Hear(const controller::ForgetArrival& message) { arrivals_.Forget(message); }
  void Hear(const controller::AnnouncementWanted&) { connection_reporter_.Announce(); }
  void Hear(const controller::LevelSet& message) { SetLevel(message.job, message.level); }
  void Hear(const controller::HostJudged& message) { outbox_.Act(KeepJudgement{message}); }
  void Hear(const controller::HostTestWanted& message) { tests_.Take(message, num_connections() > 0); }
  void Hear(const controller::HostTestsCancelled&) { tests_.Cancel(); }
  void HearAnswer(const controller::PathsAnswered& message, const traffic::ConnectionAnswer& answer);
  void HearChange(const controller::QueuePairChanged& change);
  // Args of these: connection: of the table.
  void TakePlan(const Connection& connection, const traffic::QueuePairAnswer& plan);
  void SetLevel(const std::string& job, uint32_t level);

  // Of a job's process.
  void Begin(const PathRequested& event);
  // Answers the process that waits; port 0: any.
  void Answer(const Connection& connection, uint16_t port);
  // What `connection` can have now is known, or not yet.
  void AnswerByPlan(const Connection& connection);

  // Holds it and asks the controller about it.
  const Connection& Hold(KeptConnection kept);
  void Open(const Connection& connection, uint16_t socket_port);
  // Also tells the controller. The connections are gone after.
  void CloseAll(const std::vector<uint64_t>& numbers);
  void Close(uint64_t number) { CloseAll({number}); }
  void EndJob(const std::string& job);
  void LookAtConnections(SimTime asked_at, const SocketLook& look);
  void CountBytes(SimTime at, std::span<const SeenSocket> sockets);
  // Between training NICs, as far as is known, and there is room for one more.
  bool MaySteer(const SocketPair& ends) const;
  // An accepted connection that sends is held as one from here, where it may be steered.
  bool HoldAccepted(const AcceptedSockets::Accepted& accepted, const SocketPair& ends);
  SimTime now() const { return outbox_.now(); }

  // In the order in which they need one another.
  AgentOutbox outbox_;
  RewriteOrders orders_;
  TrainingAddresses addresses_;
  ConnectionTable connections_;
  ProcessQuestions questions_;
  ControllerStream stream_;
  std::optional<std::vector<uint32_t>> slurm_jobs_;  // as last seen
  ConnectionReporter connection_reporter_;
  DepartureMoves departures_;
  SocketClasses classes_;
  ArrivalTable arrivals_;
  AcceptedSockets accepted_;
  SocketLook::ByEnds seen_;  // at the last look, those that are over, too: their arrivals go on
  ProbeDispatcher probes_;
  JobMeter meter_;
  ProcessReporter process_reporter_;
  HostTests tests_;
};

}  // namespace fairlead::agent
