// What Fairlead does to a Slurm cluster: each operation a wish about a state, and the next step towards it.
//
// Problem     whoever carries a change out may be killed at any moment, and so may slurmctld; a step whose answer was
//             lost may have been done. No job may be lost, started twice, or stay held; nobody else's job, node or
//             reservation may be touched.
// Method      an operation says what is to be so, and what was so when it was decided. PlanStep() looks only at that
//             and at what Slurm says now, so doing it again from the beginning is going on: what is done already is no
//             step.
//
//     PlaceJob, a job that runs (r: its restarts when the operation was decided; K: nodes that it is to have)
//
//       running, restarts = r --requeuehold--> completing --> pending, held --update, release--> pending --> running
//             |                                                                                                 |
//             '-- is as wanted: done                                   restarts > r and as wanted: done; else: given up
//
//             A job that was held for us is only updated and released; one that waits in the queue is Slurm's, and
//             placed only if it is elastic: then it is held first. One that somebody else started or restarted
//             meanwhile is never stopped a second time: its operation is given up, and whoever decided it decides anew.
//             StopJob and a later PlaceJob are the same with a pause in between: what the job is to get again is in the
//             record of the stop (StoppedJob). A reservation of ours keeps its hosts meanwhile.
//             HoldJob is for elastic jobs that get no hosts for now: what they are to get is decided anew each time, so
//             nothing is recorded but the word "held" behind their mark.
//             RequeueJob is for elastic jobs that Slurm has ended itself. slurmctld takes a job back that has ended, as
//             long as it remembers it (MinJobAge), and changes nothing else of it: it is marked after it was held.
//             Whatever else holds a job marks it first, where nobody else has written into its admin_comment: a
//             slurmctld that was killed forgets its last seconds, and what it holds again then is known by its mark.
//             A job that could have the mark and is held without it is held by somebody else.
//             What waits for long is held by `scontrol hold`, which Slurm does not let the job's user release: one that
//             was submitted held, or requeued to be held, it would let him start at a size of Slurm's own. Whether a
//             user holds what is held already Slurm does not show.
// Traps       (each measured on 22.05.8) NumNodes=K keeps the old maximum, so it is K-K; without NumCPUs a job that had
//             grown can't shrink; a requeued job waits for 120 s unless StartTime says otherwise, and StartTime=now
//             lets it fail; of a pending job that ran before squeue shows the nodes that it had, not those that it is
//             to get; an isolation by State=DOWN ends by itself (ReturnToService=2), so it is DRAIN; reservations have
//             no Nodes+=; nor has a comment a +=, so that what its user writes between look and step is lost.
// Guarantees  pure: the same operation and observation, the same step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "slurm/cluster_state.h"
#include "slurm/programs.h"

namespace fairlead::slurm {

// Words that a reason begins with when it is ours: what others drained is theirs.
inline constexpr char kOurReason[] = "fairlead:";
// Reservations of ours begin with it; others are never changed.
inline constexpr char kOurReservations[] = "fairlead";

// Nothing new starts on the host; what runs there runs on.
struct DrainHost {
  std::string host;
  std::string reason;  // "finding 7: …", without kOurReason; shortened, and printable, as it is carried out
};

// The end of a drain that is ours.
struct ReturnHost {
  std::string host;
};

// The job runs on `num_nodes` nodes, on all of `hosts`, and on none of `excluded_hosts`; it keeps number, owner and
// options. Made by MakePlaceJob().
struct PlaceJob {
  uint32_t job = 0;
  uint32_t owner = 0;
  uint32_t num_restarts = 0;   // when it was decided
  bool was_pending = false;    // likewise
  bool was_queued = false;     // likewise: pending, and not held
  uint32_t num_nodes = 0;      // > 0
  uint32_t num_nodes_max = 0;  // up to so many, as Slurm finds room; 0: num_nodes
  uint32_t tasks_per_node = 1;
  uint32_t cpus_per_node = 1;
  std::vector<std::string> hosts;  // at most num_nodes
  std::vector<std::string> excluded_hosts;
  std::string reservation;  // of ours, in which it starts; empty: none
};

// The job is pending and held by us. Made by MakeStopJob().
struct StopJob {
  uint32_t job = 0;
  uint32_t owner = 0;
  uint32_t num_restarts = 0;  // when it was decided
  uint32_t num_nodes = 0;     // that it has; likewise below
  uint32_t tasks_per_node = 1;
  uint32_t cpus_per_node = 1;

  friend bool operator==(const StopJob&, const StopJob&) = default;
};

// The elastic job waits, held by us. Made by MakeHoldJob().
struct HoldJob {
  uint32_t job = 0;
  uint32_t owner = 0;
  uint32_t num_restarts = 0;  // when it was decided
};

// The elastic job, which has ended by no doing of its own, is in the queue again: it waits, held by us. Made by
// MakeRequeueJob().
struct RequeueJob {
  uint32_t job = 0;
  uint32_t owner = 0;
  uint32_t num_restarts = 0;  // when it was decided
  std::string end;            // likewise: "FAILED"
};

// The job's place in the queue: higher is later, -2147483645 to 2147483645.
struct SetNice {
  uint32_t job = 0;
  uint32_t owner = 0;
  int32_t nice = 0;
};

// What we did to the job stands in its comment, beside what its user wrote (slurm/job_comment.h).
struct SetComment {
  uint32_t job = 0;
  uint32_t owner = 0;
  std::string text;  // made fit for a comment as it is carried out
};

// The reservation has exactly these hosts and users, without end; without hosts there is none. It may have hosts of
// others, so that one is in the next reservation before it has left the last.
struct SetReservation {
  std::string name;
  std::vector<std::string> hosts;
  std::vector<std::string> users;  // at least one, where there are hosts
};

// The reservation is gone, and the job goes on without it; Slurm deletes none that a job is in.
struct LeaveReservation {
  std::string name;
  uint32_t job = 0;
  uint32_t owner = 0;
};

using Operation = std::variant<DrainHost, ReturnHost, PlaceJob, StopJob, HoldJob, RequeueJob, SetNice, SetComment,
                               SetReservation, LeaveReservation>;

// Words by which fairlead-watchdog knows a job that we have stopped. Operators alone can write them.
inline constexpr char kStoppedMark[] = "fairlead:v1 stopped";

// Whether its admin_comment says that we hold it: these words, or those of an elastic job (slurm/job_wish.h).
bool IsMarkedHeld(const Job& job);
// Whether somebody else holds the job: we would have marked it.
bool IsHeldByOthers(const Job& job);
// A job that we held gets going, and has no mark of ours any more. No commands: it is so.
std::vector<Command> PlanLetGo(const Job& job);

// Of what the operation is about; what Slurm does not have is missing.
struct Observation {
  std::optional<Job> job;  // with its comment where that is to be changed
  std::optional<Node> node;
  std::optional<Reservation> reservation;
};

struct Step {
  enum class Kind : uint8_t {
    kRun,     // these commands, one after the other, up to the first that fails; then look again
    kWait,    // Slurm is at it: look again in a while
    kDone,    // it is so
    kGiveUp,  // it will not be so: says why
  };
  Kind kind = Kind::kWait;
  std::vector<Command> commands;
  std::string message;  // for people
};

Step PlanStep(const Operation& operation, const Observation& seen);

// How a job that the operation has stopped gets going again after the operation has failed: no job stays held. No
// commands: there is none to release.
std::vector<Command> PlanRelease(const Operation& operation, const Observation& seen);

// Errors: kFailedPrecondition: the job can't be placed (an array, over, not to be requeued, in the queue, held by its
// user), or it can't have that size: says why. Args: job as it is now.
Result<PlaceJob> MakePlaceJob(const Job& job, uint32_t num_nodes, std::vector<std::string> hosts,
                              std::vector<std::string> excluded_hosts);

// Errors: as MakePlaceJob(); it has no elastic mark. Args: job: as it is now.
Result<HoldJob> MakeHoldJob(const Job& job);

// Errors: as MakePlaceJob(); it has no elastic mark. Args: job: it has ended.
Result<RequeueJob> MakeRequeueJob(const Job& job);

// Errors: as MakePlaceJob(). Args: job: it has hosts.
Result<StopJob> MakeStopJob(const Job& job);
// Of a job that was stopped by that operation: the same size and tasks on `hosts`.
// Errors: kFailedPrecondition: they are not as many as it had, or the job is not as it was stopped. Args: job: as it is
// now.
Result<PlaceJob> MakePlaceJob(const StopJob& stopped, const Job& job, std::vector<std::string> hosts);

// One line for log and record: "place job 4711 on 4 nodes".
std::string Describe(const Operation& operation);

// The job that it changes, the host, the reservation; each may be none.
std::optional<uint32_t> JobOf(const Operation& operation);
std::optional<std::string> HostOf(const Operation& operation);
std::optional<std::string> ReservationOf(const Operation& operation);

// What it is about, "job 4711": two operations about the same exclude each other.
std::string SubjectOf(const Operation& operation);
// The job that a subject is about: of "job 4711", and of "job 4711 progress". Nothing: none.
std::optional<uint32_t> JobOfSubject(std::string_view subject);

}  // namespace fairlead::slurm
