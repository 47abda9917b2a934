// What steering knows of the jobs that run: their hosts, what was announced about them, and which findings were judged
// or are held up.
//
// Guarantees  a confirmed finding is judged when it is heard first, and while it is held up. What was found about a run
//             is forgotten when the job starts anew, all about a job when it has ended.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "codec/record.h"
#include "controller/steering_events.h"
#include "model/finding.h"

namespace fairlead::codec {

template <>
inline constexpr uint64_t kNumEnumerators<controller::HostChoice> = 3;

}  // namespace fairlead::codec

namespace fairlead::controller {

struct SteeredJob {
  // A confirmed finding that is held up.
  struct HeldUp {
    model::Finding finding;
    std::string rule;  // that did it when this was last reported
  };
  // By its first sight too: a restarted diagnosis counts from 0 again.
  struct Judged {
    model::FindingId finding;
    SimTime first_seen;

    friend auto operator<=>(const Judged&, const Judged&) = default;
  };

  std::vector<HostId> hosts = {};  // in rank order
  bool can_shrink = false;
  bool needs_operator = false;
  bool has_unverified_owner = false;
  HostChoice host_choice = HostChoice::kRestart;
  SimTime hold_off_until = {};
  SimTime paused_until = {};
  std::string pause_reason = {};
  std::map<model::FindingId, HeldUp> held_up = {};
  std::set<Judged> judged = {};

  bool is_allocated() const { return host_choice == HostChoice::kAllocator; }
};

class SteeredJobs {
 public:
  // Args: hold_off: SteeringOptions::hold_off.
  explicit SteeredJobs(SimDuration hold_off) : hold_off_(hold_off) {}

  // Null: no such job runs.
  const SteeredJob* Find(JobId job) const;
  const SteeredJob& at(JobId job) const { return jobs_.at(job); }
  const std::map<JobId, SteeredJob>& all() const { return jobs_; }
  bool IsOfAny(HostId host) const;
  // Until when the job pauses as announced; the past: it does not.
  SimTime PausedUntil(JobId job) const;

  // ---- Runs ----

  // It runs there, and nothing is under way for it.
  void Take(SimTime now, const JobRunning& event);
  // Steering has restarted it there. Returns its hosts before.
  std::vector<HostId> TakeRestart(SimTime now, JobId job, const std::vector<HostId>& hosts);
  // Others have, in the moment in which it is stopped.
  void Move(JobId job, const std::vector<HostId>& hosts) { jobs_.at(job).hosts = hosts; }
  void SetNeedsOperator(JobId job) { jobs_.at(job).needs_operator = true; }
  // False: known, or no such job runs.
  bool Take(const PauseAnnounced& event);
  void Forget(JobId job) { jobs_.erase(job); }

  // ---- Findings ----

  // Returns whether it is to be judged. It arrives again with each change: while it is held up, it is that which is
  // held up then; otherwise it was judged.
  bool Hear(const model::Finding& finding);
  // Args of these: finding: of a job that runs.
  void HoldUp(const model::Finding& finding, std::string_view rule);
  void EndHoldUp(const model::Finding& finding) { jobs_.at(finding.job).held_up.erase(finding.id); }
  bool IsHeldUp(const model::Finding& finding) const { return jobs_.at(finding.job).held_up.contains(finding.id); }
  // What holds it up; empty: nothing does.
  std::string_view RuleOf(const model::Finding& finding) const;
  // By job and finding.
  std::vector<model::Finding> AllHeldUp() const;
  // The diagnosis knows nothing of earlier findings: they are made again. Clocks may have been ahead.
  void BeginAnew(SimTime now);

  // ---- What outlives the process ----

  struct Kept {
    SteeredJob job = {};  // without `held_up`
    std::vector<SteeredJob::HeldUp> held_up = {};
  };
  static Kept Keep(const SteeredJob& job);
  void Restore(JobId id, Kept kept);

 private:
  SimDuration hold_off_;
  std::map<JobId, SteeredJob> jobs_;
};

template <class Archive, codec::IsRecord<SteeredJob::HeldUp> Record>
void Describe(Archive& archive, Record& held_up) {
  archive.Required("finding", held_up.finding);
  archive.Required("rule", held_up.rule);
}

template <class Archive, codec::IsRecord<SteeredJob::Judged> Record>
void Describe(Archive& archive, Record& judged) {
  archive.Required("finding", judged.finding);
  archive.Required("first_seen", judged.first_seen);
}

template <class Archive, codec::IsRecord<SteeredJobs::Kept> Record>
void Describe(Archive& archive, Record& kept) {
  auto& job = kept.job;
  archive.Required("hosts", job.hosts);
  archive.Required("can_shrink", job.can_shrink);
  archive.Required("needs_operator", job.needs_operator);
  archive.Optional("has_unverified_owner", job.has_unverified_owner);
  archive.Optional("host_choice", job.host_choice);
  archive.Required("hold_off_until", job.hold_off_until);
  archive.Required("paused_until", job.paused_until);
  archive.Required("pause_reason", job.pause_reason);
  archive.Required("held_up", kept.held_up);
  archive.Required("judged", job.judged);
}

}  // namespace fairlead::controller
