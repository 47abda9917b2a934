// What a finding was made from, for the page that shows it: the job's iterations around the moment, who waited for
// whom, and how long transfers took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"
#include "model/wait_picture.h"

namespace fairlead::model {

// Some consecutive iterations of the job; as many in each block.
struct IterationBlock {
  SimTime at;          // when all of it was known, on the clock of the diagnosis
  double seconds = 0;  // its length
  // What the accused ranks did by themselves in it, the slowest of them; nothing: not known, or no rank is accused.
  std::optional<double> own_seconds = {};
  // Likewise the other ranks that do the same: quartiles. Nothing: there are none.
  std::optional<double> like_low_seconds = {};
  std::optional<double> like_median_seconds = {};
  std::optional<double> like_high_seconds = {};

  friend bool operator==(const IterationBlock&, const IterationBlock&) = default;
};

// Of all messages from one rank to another.
struct TransferDelay {
  RankId source;
  RankId destination;
  double ratio = 1;  // time for each message over what is usual for the pair, or for its like
  bool is_accused = false;

  friend bool operator==(const TransferDelay&, const TransferDelay&) = default;
};

// Ranks whose first threads are in the same place.
struct RankThreads {
  std::vector<RankId> ranks;        // ascending
  bool is_accused = false;          // one of them
  std::vector<ThreadGroup> groups;  // of the first accused one, or of the first: its first thread, then by size

  friend bool operator==(const RankThreads&, const RankThreads&) = default;
};

struct FindingProof {
  SimTime seen_at;                     // when the finding was confirmed, on the clock of the diagnosis
  std::vector<IterationBlock> blocks;  // oldest first; until now
  WaitPicture waits;                   // as of seen_at; empty: nobody was stuck
  std::vector<TransferDelay> delays;   // likewise; ascending; empty: it is not about transfers
  uint32_t num_delays_left_out = 0;
  std::vector<RankThreads> threads =
      {};                       // likewise; accused ranks first, then by number; empty: it is not about a hang
  std::vector<HostId> host_of;  // [rank]; empty where there are no delays

  friend bool operator==(const FindingProof&, const FindingProof&) = default;
};

}  // namespace fairlead::model
