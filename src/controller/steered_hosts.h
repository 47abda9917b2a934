// Which hosts are spare, isolated or in doubt, and what is under way to change that.
//
//                       Free             BeginIsolation                 FinishIsolation            BeginReturn, then
//     (nothing known) --------> spare    of its job -----> isolating --------------------> isolated ----------------+
//            ^                    |                            | GiveUpIsolation             ^   GiveUpReturn |      |
//            | NoteUsed, TakeSpare|                            v                             +----------------+      |
//            +--------------------+                        in doubt                            FinishReturn <--------+
//
// Guarantees  a host that is being isolated counts as isolated; only one that is away returns. Calls that come twice
//             change nothing.
// Limits      who is of a job, or set aside for one, is not known here: steered_jobs.h, steering_sequences.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "codec/record.h"

namespace fairlead::controller {

enum class HostCondition : uint8_t {
  kUnknown,    // it was not reported
  kInJob,      // of a job, and nothing is held against it
  kSpare,      // free
  kReserved,   // a spare that an action has set aside, or taken
  kIsolating,  // an action is about to isolate it; it may still be of its job
  kIsolated,   // away from jobs until it has passed its tests, or an operator takes that back
  kInDoubt,    // an action on it was given up: whether it was carried out is not known
};

// "unknown", "in_job", "spare", "reserved", "isolating", "isolated", "in_doubt".
std::string_view Name(HostCondition condition);

class SteeredHosts {
 public:
  // Nothing: no more is known of it here than of any host of a job.
  std::optional<HostCondition> ConditionOf(HostId host) const;
  // Or about to be.
  bool IsIsolated(HostId host) const { return isolated_.contains(host); }
  // Isolated, and not about to be: only such hosts are tested, and return. Of one that is about to be it would be unknown
  // which of the two was carried out last.
  bool IsAway(HostId host) const { return isolated_.contains(host) && !isolating_.contains(host); }
  bool IsReturning(HostId host) const { return returning_.contains(host); }
  // Spare, isolated or in doubt.
  std::set<HostId> Marked() const;
  const std::set<HostId>& spares() const { return spares_; }
  const std::set<HostId>& isolated() const { return isolated_; }

  // ---- Spares ----

  void Free(HostId host) { spares_.insert(host); }
  // The one with the lowest number; nothing: there is none.
  std::optional<HostId> TakeSpare();
  // A job runs there: it is no spare.
  void NoteUsed(HostId host) { spares_.erase(host); }

  // ---- Doubt ----

  void Doubt(HostId host) { in_doubt_.insert(host); }
  // A person, or a job that was started there, says that it is in order.
  void EndDoubt(HostId host) { in_doubt_.erase(host); }

  // ---- Isolation ----

  void BeginIsolation(HostId host);
  void FinishIsolation(HostId host) { isolating_.erase(host); }
  // It has not been asked for.
  void CancelIsolation(HostId host);
  // Whether it was carried out is not known.
  void GiveUpIsolation(HostId host);

  // ---- Tests of isolated hosts ----

  // Args: action: number of the action that asks for it.
  void BeginTest(HostId host, uint64_t action) { tests_[host] = action; }
  // Returns the number of the action that asked for it; nothing: none is under way.
  std::optional<uint64_t> EndTest(HostId host);

  // ---- Return of isolated hosts ----

  // False: it is under way, or the host is not away.
  bool BeginReturn(HostId host) { return IsAway(host) && returning_.insert(host).second; }
  void FinishReturn(HostId host);
  void GiveUpReturn(HostId host) { returning_.erase(host); }

  // What was under way with hosts ends with nobody to carry it out. Whether a host was isolated is then not known; no
  // work is placed on it as long as it counts as isolated.
  void Abandon();

  // ---- What outlives the process ----

  struct Test {
    HostId host;
    uint64_t action = 0;
  };
  struct Kept {
    std::set<HostId> spares = {};
    std::set<HostId> isolated = {};
    std::set<HostId> in_doubt = {};
    std::set<HostId> returning = {};
    std::set<HostId> isolating = {};
    std::vector<Test> tests = {};
  };
  Kept Keep() const;
  void Restore(Kept kept);
  // Hosts that are no more, all under the invalid id (codec/host_names.h).
  void ForgetLost();

 private:
  std::set<HostId> spares_;
  std::set<HostId> isolated_;
  std::set<HostId> in_doubt_;
  std::set<HostId> returning_;        // of isolated_
  std::set<HostId> isolating_;        // of isolated_: not done yet
  std::map<HostId, uint64_t> tests_;  // [host] number of the action that asks for its test
};

template <class Archive, codec::IsRecord<SteeredHosts::Test> Record>
void Describe(Archive& archive, Record& test) {
  archive.Required("host", test.host);
  archive.Required("action", test.action);
}

template <class Archive, codec::IsRecord<SteeredHosts::Kept> Record>
void Describe(Archive& archive, Record& hosts) {
  archive.Required("spares", hosts.spares);
  archive.Required("isolated", hosts.isolated);
  archive.Required("in_doubt", hosts.in_doubt);
  archive.Required("returning", hosts.returning);
  archive.Required("isolating", hosts.isolating);
  archive.Required("tests", hosts.tests);
}

}  // namespace fairlead::controller
