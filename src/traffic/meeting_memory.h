// Who shared a link with whom at the last plan, so that the next one looks only at jobs whose links are others.
//
// Problem     at 1,000 jobs on 100,000 GPUs half a million links are used, most of them by several jobs: to find all
//             pairs takes longer than all that a plan changes after one arrival.
// Method      one bit for each pair of jobs. A job whose traffic is the same object as before keeps its bits towards
//             all that do, too; the links of the others are marked, and one pass over the links of all jobs tells who
//             meets them. Where many have changed, all pairs are found anew.
// Cost        O(links of all jobs + jobs^2). Memory: jobs^2 / 8 bytes, and the traffic of the last plan.
// Guarantees  what Find returns is what FindContention does.
// Oracle      FindContention (meeting_memory_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic {

class MeetingMemory {
 public:
  struct Job {
    JobId id;
    std::shared_ptr<const JobTraffic> traffic;  // not null; another object where anything of it has changed
  };

  // Args: different jobs; links: of the same tiers at every call. Returns: as of FindContention, indices into `jobs`.
  std::vector<std::vector<uint32_t>> Find(std::span<const Job> jobs, const LinkTable& links);
  void Clear();

  size_t num_jobs() const { return slot_of_.size(); }
  // Jobs of the last call whose links were looked up: those that are new or have other traffic; all, where these are
  // many.
  size_t num_looked_up() const { return num_looked_up_; }

 private:
  // Changed jobs that have a bit each in a mark on a link.
  static constexpr size_t kMostMarked = 64;

  struct Slot {
    std::shared_ptr<const JobTraffic> traffic;  // null: free
    bool is_used = false;                       // by the call at hand
  };

  uint64_t* RowOf(uint32_t slot) { return &meets_[slot * num_words_]; }
  bool Assign(std::span<const Job> jobs);
  void FreeUnused();
  void Forget(uint32_t slot);
  void FindAll(std::span<const Job> jobs, const LinkTable& links);
  void FindChanged(std::span<const Job> jobs, const LinkTable& links);
  std::vector<std::vector<uint32_t>> List();

  std::unordered_map<JobId, uint32_t> slot_of_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  size_t num_words_ = 0;                 // of a row of bits
  std::vector<uint64_t> meets_;          // [slot][slot / 64]
  std::vector<uint32_t> slots_of_call_;  // [job of the call]
  std::vector<uint32_t> changed_;        // jobs of the call
  size_t num_looked_up_ = 0;
};

}  // namespace fairlead::traffic
