#include "slurm/readings.h"

#include <string>
#include <utility>

#include "slurm/state_names.h"

namespace fairlead::slurm {

void Readings::Note(const Status& status, Seconds length) {
  const std::lock_guard lock(mutex_);
  shown_.status = status;
  shown_.numbers.answers = status.ok();
  ++shown_.numbers.readings;
  shown_.numbers.failures += status.ok() ? 0 : 1;
  shown_.numbers.reading += length;
}

void Readings::Show(std::shared_ptr<const ClusterState> state, size_t num_unknown_hosts, SimTime read_at) {
  auto places = std::make_shared<const JobPlaces>(*state);
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
  shown_.numbers.jobs.clear();
  for (const Job& job : state->jobs) ++shown_.numbers.jobs[std::string(NameOf(job.state))];
  shown_.numbers.hosts_not_in_fabric = num_unknown_hosts;
  shown_.read_at = read_at;
  shown_.state = std::move(state);
}

void Readings::SetJobsStopped(size_t num_jobs) {
  const std::lock_guard lock(mutex_);
  shown_.numbers.jobs_stopped = num_jobs;
}

Readings::Shown Readings::shown() const {
  const std::lock_guard lock(mutex_);
  return shown_;
}

std::shared_ptr<const ClusterState> Readings::state() const {
  const std::lock_guard lock(mutex_);
  return shown_.state;
}

std::shared_ptr<const JobPlaces> Readings::places() const {
  const std::lock_guard lock(mutex_);
  return places_;
}

}  // namespace fairlead::slurm
