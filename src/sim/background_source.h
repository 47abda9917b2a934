// When the network gets something to carry beside training, and what: key/value caches that go from prefill to decode
// hosts, and checkpoints that jobs write to storage hosts.
//
//   kv transfers   Poisson arrivals; a prompt of log-normal length is computed on a host drawn from `from` and goes to
//                  one drawn from `to`, divided over their GPUs: GPU i of the one sends to GPU i of the other, whose
//                  tensor-parallel rank needs it.
//   checkpoints    every `interval` since its start a job writes: each of its GPUs an equal part, to the storage hosts'
//                  GPUs in turn, while it trains on. As long as the last one is not written none is begun.
//
// Reference   specification "rivals and fabrics", section 6 (bytes per token, 14 B a parameter).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/job.h"
#include "topology/fabric.h"

namespace fairlead::sim {

struct KvTransfers {
  std::string name;
  std::vector<HostId> from, to;  // prefill and decode hosts; none in both
  double per_s = 1;              // requests; > 0
  Bytes bytes_per_token = Bytes(1);
  double median_tokens = 1000;  // of prompts; >= 1
  double sigma = 1;             // of the logarithm of their length; >= 0
  uint32_t level = 0;
};

struct CheckpointWrites {
  SimDuration interval;
  Bytes bytes;  // of the whole job
};

struct BackgroundSpec {
  std::vector<KvTransfers> kv_transfers;
  std::vector<HostId> storage;  // hosts that checkpoints are written to
  uint32_t storage_level = 0;
  std::map<JobId, CheckpointWrites> checkpoints;

  bool is_empty() const { return kv_transfers.empty() && checkpoints.empty(); }
  // All hosts that it needs for itself, ascending.
  std::vector<HostId> Hosts() const;
};

// A message that begins.
struct BackgroundMessage {
  size_t stream = 0;  // place in BackgroundSpec::kv_transfers; beyond them: checkpoints
  JobId writer;       // of a checkpoint
  model::Iteration iteration;
};

class BackgroundSource {
 public:
  // The same seed draws the same requests, whatever jobs do. Both references must outlive this.
  BackgroundSource(const BackgroundSpec& spec, const topology::Fabric& fabric, uint64_t seed);

  // A job trains on these GPUs from `start` on. Nothing happens where it writes no checkpoints.
  void BeginJob(JobId job, const model::Placement& placement, SimTime start);
  void EndJob(JobId job) { writers_.erase(job); }
  // Its checkpoint is written.
  void EndWrite(JobId job);

  // When a message begins next; Never(): none does.
  SimTime Next() const;
  // Those that begin up to `now`.
  std::vector<BackgroundMessage> Take(SimTime now);

  // Checkpoints that were due while the one before was still being written.
  uint64_t num_skipped() const { return num_skipped_; }

 private:
  struct Arrivals {
    Random random;
    SimTime next;
  };
  struct Writer {
    model::Placement placement;
    SimTime next;
    bool is_writing = false;
  };

  BackgroundMessage TakeRequest(size_t stream);
  BackgroundMessage Write(JobId job, const Writer& writer) const;

  const BackgroundSpec& spec_;
  const topology::Fabric& fabric_;
  std::vector<Arrivals> arrivals_;  // [kv transfers]
  std::map<JobId, Writer> writers_;
  uint64_t num_skipped_ = 0;
};

}  // namespace fairlead::sim
