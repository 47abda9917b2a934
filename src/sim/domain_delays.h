// What holds up the jobs of a contention domain: fills their accounts of delay (delay_account.h).
//
// Method      While a phase runs, the view of its job says what holds up the transfer that ends last: nothing, or so
//             many seconds a second lost to this and that. It stays true until a rate changes on a link that the job
//             uses, or the job itself proceeds; then what it said is booked, and a new one is taken. A job with many
//             transfers is looked at less often: its last view holds until the next time.
// Cost        A look: O(variables of the phase + users of the link that bounds it).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sim/delay_account.h"
#include "sim/domain_network.h"
#include "sim/domain_recorder.h"
#include "sim/domain_time.h"
#include "sim/job_clocks.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class DomainDelays {
 public:
  // Args: healthy_capacities: [link] bytes/s when nothing is broken; null: no account is kept, and nothing below does
  // anything. All outlive this.
  DomainDelays(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network, const JobClocks& clocks,
               DomainRecorder* recorder, const IdVector<LinkId, double>* healthy_capacities);

  DelayAccount& account() { return account_; }
  const DelayAccount& account() const { return account_; }

  // The job starts or ends something now.
  void ForgetView(uint32_t j) { views_[j].is_stale = true; }
  // The job's next phase starts now; to be called before its state says so.
  void BeginPhase(uint32_t j);
  // Nothing but the order of its packets holds the job up until its phase ends.
  void EndSending(uint32_t j);
  // The phase before the job's present one has just ended.
  void EndPhase(uint32_t j);
  // The job begins an iteration now, and may have waited for its time shift.
  void EndWait(uint32_t j);

  // In a stretch that was skipped the job lost so much more, below 0: less, than the account knows.
  void AttributeMore(uint32_t j, double lost_s) {
    if (is_on()) account_.AttributeMore(*jobs_[j], lost_s);
  }

  // To be called before time moves on: rates are constant up to `local_ns`.
  void FollowUntil(int64_t local_ns) {
    if (is_on() && local_ns > time_->local_ns) RenewViews();
  }
  // Books what is in view up to now. The same for all jobs.
  void RecordView(uint32_t j);
  void RecordViews();

 private:
  // What holds up the running phase of a job at present rates.
  struct View {
    bool is_stale = true;
    std::optional<int64_t> seen_at_ns = {};              // local
    int64_t recorded_until_ns = 0;                       // local
    std::optional<size_t> bound = {};                    // place in the account's bounds
    std::vector<std::pair<size_t, double>> shares = {};  // place in the job's delay_shares, seconds lost there a second
  };

  bool is_on() const { return healthy_capacities_ != nullptr; }
  bool Follows(uint32_t j) const { return is_on() && !jobs_[j]->is_background; }
  void WatchLinks();
  void RenewViews();
  void Look(uint32_t j);
  const FluidVariable* FindSlowest(uint32_t j);
  void ShareDelay(uint32_t j, const FluidVariable& slowest, const LocalLink& link, double delay);
  void ShareOwnDelay(uint32_t j, const FluidVariable& slowest, double delay);
  void AddOwnShares(uint32_t j, LinkId link, double delay, double own_excess, double lacking, double all);
  void AddShare(uint32_t j, LossCause cause, JobId culprit, LinkId link, double delay);
  double SoloRate(const FluidVariable& variable) const;

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  DomainNetwork* network_;
  const JobClocks* clocks_;
  DomainRecorder* recorder_;
  const IdVector<LinkId, double>* healthy_capacities_;
  std::vector<View> views_;  // [job]
  DelayAccount account_;
};

}  // namespace fairlead::sim
