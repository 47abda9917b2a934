// What Fairlead did to jobs of Slurm, and why: kept for `fairlead explain job slurm-4711`, and told in their comments.
//
//     sizes, steps of steering --> Add() --> record "slurm/account/<job>" --> TellComments() --> Writer --> Comment
//                                                        '------------------> Of() --> /v1/slurm/account
//
// Method      the record is made before the comment is written, and says what the comment has to have; so a death in
//             between is made up for by the next controller. A comment is written when there is news, and not again
//             because its user has changed it since.
// Guarantees  bounded: of each job the last kNumEntriesMax, of all jobs kNumAccountsMax, those that something was done
//             to last. A job's number that is somebody else's now begins anew.
// Thread      one for Add() and TellComments(); Of() any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "slurm/cluster_state.h"
#include "slurm/programs.h"
#include "slurm/writer.h"
#include "store/store.h"

namespace fairlead::slurm {

struct AccountEntry {
  double at_s = 0;          // since 1970
  std::string kind;         // "size" or "health"
  std::string text;         // for people: printable, shortened
  std::string action = {};  // of steering: what is there already is not added again; empty: each is another

  friend bool operator==(const AccountEntry&, const AccountEntry&) = default;
};

struct JobAccount {
  uint32_t job = 0;
  uint32_t owner = 0;
  std::vector<AccountEntry> entries;  // oldest first
  uint64_t num_left_out = 0;          // older ones
  std::string told;                   // what was last written into the comment, or found no room there

  friend bool operator==(const JobAccount&, const JobAccount&) = default;
};

// For the comment: the newest first, as many as fit.
std::string SummaryOf(const JobAccount& account);

class JobAccounts {
 public:
  static constexpr size_t kNumEntriesMax = 20;
  static constexpr size_t kNumAccountsMax = 1000;
  static constexpr size_t kTextBytesMax = 300;
  // Comments that are written at one call of TellComments(): others' orders wait for it.
  static constexpr size_t kNumToldMax = 5;

  // What the pointers point to must outlive it. Errors: those of the store; kDataLoss: a record that can't be read.
  static Result<std::unique_ptr<JobAccounts>> Create(Programs* programs, store::Store* store,
                                                     const WriterOptions& options);

  // Errors: those of the store; it is kept in memory then, and recorded with what comes next.
  Status Add(uint32_t job, uint32_t owner, AccountEntry entry);

  // Writes comments of jobs that are in Slurm's answer and about which there is news. Errors: those of Writer::Carry()
  // and of the store: the rest waits for the next call.
  Status TellComments(const std::vector<Job>& jobs);

  std::optional<JobAccount> Of(uint32_t job) const;

 private:
  JobAccounts(Programs* programs, store::Store* store, const WriterOptions& options)
      : store_(*store), writer_(programs, store, options) {}

  Status Save(const JobAccount& account);
  Status Forget();

  store::Store& store_;
  Writer writer_;
  mutable std::mutex mutex_;  // of accounts_, which one thread changes
  std::map<uint32_t, JobAccount> accounts_;
};

}  // namespace fairlead::slurm
