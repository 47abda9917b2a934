// A statement of the diagnosis: the syndrome, its cause, the evidence, and the recommended action.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 4 and 7.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::model {

using FindingId = Id<struct FindingIdTag>;

// The four of the paper, and three that they need. Wire and dump values: never renumber.
enum class Syndrome : uint8_t {
  kCommHang = 0,     // data movement has stopped
  kNonCommHang = 1,  // some ranks never arrived
  kCommSlow = 2,     // some transfers are much slower than their like
  kNonCommSlow = 3,  // a rank keeps all others waiting
  kDead = 4,         // a process or host is gone
  kUnreachable = 5,  // an agent gives no answer
  kMismatch = 6,     // ranks disagree about an operation: a fault of the program
};
inline constexpr size_t kNumSyndromes = 7;

// "comm_hang", "non_comm_hang", "comm_slow", "non_comm_slow", "dead", "unreachable", "mismatch".
std::string_view Name(Syndrome syndrome);

// Wire and dump values: never renumber.
enum class CulpritKind : uint8_t {
  kRank = 0,  // its process or GPU
  kHost = 1,
  kNicSend = 2,     // transmit side of a NIC
  kNicReceive = 3,  // receive side
  kNic = 4,         // both
  kConnection = 5,  // from rank to peer: the path, endpoints undecided
  kLeaf = 6,        // a leaf switch
  kPlane = 7,       // one of the copies of the fabric
};

std::string_view Name(CulpritKind kind);

// Ids that do not apply to the kind are invalid; those that follow from the others are filled in where known.
struct Culprit {
  CulpritKind kind = CulpritKind::kRank;
  RankId rank;
  RankId peer;  // of connections
  HostId host;
  NicId nic;
  LeafId leaf;
  std::optional<uint32_t> plane;

  friend constexpr auto operator<=>(const Culprit&, const Culprit&) = default;
};

// A measured number and what is normal for it.
struct Evidence {
  std::string what;  // such as "seconds per GB from rank 3 to rank 4"
  double value = 0;
  double baseline = 0;
  std::string unit;

  friend bool operator==(const Evidence&, const Evidence&) = default;
};

// One of several that may be at fault, where evidence does not decide between them.
struct Candidate {
  Culprit culprit;
  std::string why;                 // what speaks for it, a clause
  std::vector<Evidence> evidence;  // measured of it alone

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Why a rank hangs or is slow, as far as it is known. Wire and dump values: never renumber.
enum class SubCause : uint8_t {
  kUnknown = 0,
  kGpu = 1,         // its kernels are late or stuck
  kHostThread = 2,  // operations are enqueued late: data loading, Python, CPU
  kThrottled = 3,   // the GPU's clocks are down
  kGpuError = 4,    // ECC, NVLink, CUDA
  kNetwork = 5,     // NIC errors, port down
  kProcess = 6,     // stopped or gone
};

std::string_view Name(SubCause cause);

// What should be done; the limits of steering decide whether it is. Wire and dump values: never renumber.
enum class RecommendedAction : uint8_t {
  kNone = 0,
  kWatch = 1,           // evidence does not name a host
  kReportSoftware = 2,  // no hardware
  kRestart = 3,         // the process died, its host did not
  kIsolateAndRestart = 4,
  kRepairPath = 5,  // take the link out of the path catalogue
};

std::string_view Name(RecommendedAction action);

// Where a finding is known from. What is of one kind may err at once; different kinds are independent: no single
// process, counter or message that errs makes two of them. Dump values: never renumber.
enum class Sign : uint8_t {
  kPeers = 0,     // ranks that are not accused wait for it, or measure that it is slow
  kOwnRanks = 1,  // the accused ranks, or those of the accused host, report of themselves
  kKernel = 2,    // the kernel of its host: its process has ended, or is stopped
  kDevice = 3,    // a GPU, a NIC or a port reports an error
  kSilence = 4,   // nothing comes from its host any more
  kTest = 5,      // agents have measured it with other hosts (node_check)
};

// "peers", "own_ranks", "kernel", "device", "silence", "test".
std::string_view Name(Sign sign);

enum class FindingState : uint8_t { kSuspect, kConfirmed, kCleared };

struct Finding {
  FindingId id;
  JobId job;
  Syndrome syndrome = Syndrome::kCommHang;
  FindingState state = FindingState::kSuspect;
  std::vector<Culprit> culprits;  // ascending
  // Those that it may be, where it can't be told: who stopped first comes first. Not all of them in large jobs: the
  // evidence says how many there are.
  std::vector<Candidate> candidates;
  // The operation that shows it; nothing where no single one does.
  CommunicatorId communicator;
  std::optional<OperationKind> operation;
  uint64_t sequence = 0;  // of the operation
  SubCause sub_cause = SubCause::kUnknown;
  std::vector<Evidence> evidence;
  std::vector<Sign> signs;  // ascending, each once
  std::string summary;      // one sentence for people
  double confidence = 0;    // 0..1: in so many of such cases it was right
  double score = 0;         // 0..1: how sure the detector is; not calibrated
  // What it costs: share of the job, 0..1, and GPU-hours in a day. Nothing: not known.
  std::optional<double> cost_share;
  std::optional<double> cost_gpu_hours;
  RecommendedAction action = RecommendedAction::kNone;
  SimTime first_seen;
  SimTime confirmed;  // Never() until it is
  SimTime cleared;    // Never() while it holds
  // Other findings that this one explains.
  std::vector<FindingId> symptoms;

  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace fairlead::model
