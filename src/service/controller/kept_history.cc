#include "service/controller/kept_history.h"

#include <utility>

namespace fairlead::service {

namespace {

constexpr SimDuration kHistoryLook = SimDuration(15'000'000'000);  // four in a period

}  // namespace

Status KeptHistory::Restore(SimTime now, const store::Store& store) {
  FL_ASSIGN_OR_RETURN(const auto figures, store.List(ClusterHistory::kPrefix));
  FL_ASSIGN_OR_RETURN(const auto pictures, store.List(NetworkHistory::kPrefix));
  const std::lock_guard lock(mutex_);
  cluster_.Restore(now, figures);
  network_.Restore(now, pictures);
  return OkStatus();
}

bool KeptHistory::IsDue(SimTime now) const {
  const std::lock_guard lock(mutex_);
  return now >= next_;
}

std::vector<store::Change> KeptHistory::Add(SimTime now, const ClusterFigures& figures,
                                            std::span<const controller::JobOnFabric> jobs,
                                            const std::vector<controller::LinkOnFabric>& links) {
  std::vector<store::Change> changes;
  const std::lock_guard lock(mutex_);
  next_ = now + kHistoryLook;
  jobs_.Add(now, jobs);
  if (auto change = cluster_.Add(now, figures)) changes.push_back(*std::move(change));
  if (auto change = network_.Add(now, ConditionsOf(fabric_, links))) changes.push_back(*std::move(change));
  return changes;
}

Json KeptHistory::ToJson() const {
  const std::lock_guard lock(mutex_);
  return cluster_.ToJson();
}

NetworkPast KeptHistory::Remember(std::optional<int64_t> at_s) const {
  const std::lock_guard lock(mutex_);
  NetworkPast past{.period_s = network_.period_s(), .begins = network_.Begins(), .conditions = {}};
  if (at_s) past.conditions = network_.At(*at_s);
  return past;
}

std::vector<JobLooks::Look> KeptHistory::LooksOf(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  return jobs_.Of(job);
}

}  // namespace fairlead::service
