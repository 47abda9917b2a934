// The C4P master: gives the queue pairs of all jobs their paths, and keeps them right while links fail and hosts die.
//
//     requests, heartbeats, releases, probes, reports --> Handle() --> answers, moves, scans, probe rounds
//
// A state machine without thread, socket, clock or disk. What it consists of, each with a state of its own; none knows
// the whole:
//
//     connection_table    who asked for what; the rows of queue pairs   lease_table          until when it is theirs
//     path_reservations   which path each queue pair has                port_assignment      which port leads there
//     port_occupancy      which ports sockets and packets have          port_steering        where ports lead
//     link_evidence       which links are healthy                       probe_schedule       who probes, and when
//     replan_agenda       what changes of links ask for                 hashed_path_probes   paths that are not chosen
//     path_outputs        all that is decided, in order                 path_catalogue       which paths there are
//
// Method      request   the requests that follow one another are placed job by job, each job's as one batch; then a
//                       port is looked up for each queue pair (QP), or its address pair is to be scanned
//             link      a QP with a lost path moves; one without any healthy path becomes unmanaged, and is tried again
//                       when links return; when a link comes back or loses capacity the overloaded links shed QPs
//             epoch     QPs on healthy paths with a port that may lead elsewhere now: that port is probed, and if it
//                       does, a new one is found for the old path: a re-pin, no move
//             uneven    imbalance over the limit for long enough: the overloaded links shed QPs
//             hashed    where paths are not chosen, the port that a QP's packets carry is probed: that shows its path
//             silence   a lease that is not renewed ends, and with it its reservations
// Guarantees  every reservation is on links that are up, belongs to one queue pair of one lease, and ends with it. Same
//             events at the same times: same answers and state. Requests, renewals, announcements and releases may come
//             twice. A master that has forgotten everything and receives the holders' announcements, with the same
//             links down, has the same reservations, except for QPs off their plane: it may not know the reason.
// Differs     the paper gives the duties only; docs/spec/c4.md section 9 and the comments of the parts say what is
//             ours.
// Limits      between a restart and the announcements new QPs are placed as if the others were not there; the rule for
//             imbalance puts that right. QPs are looked through from end to end after each change of the fabric.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 2 and 9.
// Oracle      c4p_master_laws_test.cc: laws over random events, replay, restart.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "topology/fabric.h"
#include "traffic/c4p/c4p_counters.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/c4p/connection_table.h"
#include "traffic/c4p/hashed_path_probes.h"
#include "traffic/c4p/lease_table.h"
#include "traffic/c4p/link_evidence.h"
#include "traffic/c4p/path_catalogue.h"
#include "traffic/c4p/path_outputs.h"
#include "traffic/c4p/path_reservations.h"
#include "traffic/c4p/port_assignment.h"
#include "traffic/c4p/port_occupancy.h"
#include "traffic/c4p/port_steering.h"
#include "traffic/c4p/probe_schedule.h"
#include "traffic/c4p/replan_agenda.h"
#include "traffic/path_messages.h"
#include "traffic/path_service.h"
#include "traffic/steady_time.h"

namespace fairlead::traffic::c4p {

class C4pMaster final : public PathService {
 public:
  // `fabric` must outlive this. Args: options valid.
  C4pMaster(const topology::Fabric& fabric, const C4pOptions& options);
  C4pMaster(const C4pMaster&) = delete;
  C4pMaster& operator=(const C4pMaster&) = delete;

  // There should be a call at least every `max_clock_step` (steady_time.h). Returns answers in order of their
  // requests, rejections and changes of links, then ended leases and the next round of probes, then moves and scans by
  // host.
  std::vector<PathAction> Handle(SimTime clock, std::span<const PathEvent> events) override;

  std::optional<ConnectionAnswer> Find(JobId job, uint64_t connection) const override;
  // By slot of the connection table: those of ended connections are used again.
  void VisitQueuePairs(const std::function<void(const HeldQueuePair&)>& visit) const override;
  LinkState state(LinkId link) const override { return links().state(link); }
  double health(LinkId link) const override { return catalogue_.health(link); }

  const PathAllocator& allocator() const { return paths_.allocator(); }
  const ConnectionTable& connections() const { return connections_; }
  const LeaseTable& leases() const { return leases_; }
  const PortSteering& ports() const { return ports_; }
  const LinkWatch& links() const { return evidence_.links(); }
  const C4pCounters& counters() const { return counters_; }
  // Queue pairs that no healthy path is left for.
  size_t num_unmanaged() const { return paths_.num_unmanaged(); }
  // Queue pairs that use another plane than theirs, which has no good path.
  size_t num_off_plane() const { return paths_.num_off_plane(); }
  size_t num_pending_scans() const { return assignment_.num_pending_scans(); }

 private:
  void Handle(const PathEvent& event);
  bool IsKnownHost(HostId host, JobId job, std::string_view what);

  // Requests that came together.
  void Grant(std::span<const PathEvent> requests);
  void Register(const PathsRequested& request, std::vector<std::string>* errors,
                std::map<JobId, std::vector<QueuePairRef>>* newcomers);

  // What holders say of their leases.
  void Renew(const LeasesRenewed& event);
  void Release(const ConnectionsReleased& event);
  void Announce(const LeasesAnnounced& event);
  void AnnounceOne(LeaseId lease, const HeldConnection& held);
  void Compare(uint32_t slot, const HeldConnection& held);
  void Adopt(QueuePairRef ref, const HeldPath& held);
  // Args: events of queue pairs that were opened.
  void Open(std::span<const PathEvent> events);
  std::optional<QueuePairRef> FindOpened(const QueuePairOpened& event) const;
  void ExpireLeases();
  std::vector<uint32_t> SlotsOf(LeaseId lease) const;
  void RemoveConnection(uint32_t slot);

  // What probes and reports say of ports and links, and what follows.
  void LearnPorts(std::span<const PortScanSeen> scans);
  void ObserveRound(const ProbeRoundFinished& event);
  void Report(const LinkReported& event);
  void Apply(std::vector<LinkStateChanged> changes);
  void Replan();
  // Queue pairs that have another path: finds their ports, and tells their holders.
  void Move(std::span<const QueuePairRef> refs, MoveCause cause);

  ConnectionAnswer AnswerOf(uint32_t slot) const;
  ConnectionAnswer Tell(uint32_t slot);
  std::span<const LinkId> LinksOf(QueuePairRef ref) const;

  const bool chooses_paths_;
  SteadyTime time_;
  C4pCounters counters_;
  PathCatalogue catalogue_;
  // In the order in which they need one another.
  PathOutputs outputs_;
  ConnectionTable connections_;
  LeaseTable leases_;
  PortSteering ports_;
  LinkEvidence evidence_;
  PathReservations paths_;
  PortOccupancy occupancy_;
  PortAssignment assignment_;
  HashedPathProbes hashed_;
  ProbeSchedule probes_;
  ReplanAgenda agenda_;
};

}  // namespace fairlead::traffic::c4p
