#include "controller/job_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace fairlead::controller {
namespace {

constexpr double kIterationSecondsMax = 1e6;
// Of one iteration on one host; above what any hardware will do.
constexpr double kWorkMax = 1e24;
constexpr double kBytesMax = 1e18;

bool IsIn(double value, double low, double high) { return value >= low && value <= high; }

// The lower one of the two in the middle. Args: not empty.
double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string JobMeasurements::FindFault(const JobMeasured& message) {
  const model::MeasuredProfile& profile = message.profile;
  if (profile.flow_bytes.size() != message.connections.size()) {
    return fmt::format("bytes of {} connections, but names of {}", profile.flow_bytes.size(),
                       message.connections.size());
  }
  const double time = profile.iteration_time.value();
  if (!(time > 0 && time <= kIterationSecondsMax)) return fmt::format("an iteration of {} s", time);
  if (!IsIn(profile.compute_time.value(), 0, kIterationSecondsMax)) {
    return fmt::format("{} s of computing", profile.compute_time.value());
  }
  if (!IsIn(profile.start_fraction, 0, 1)) return fmt::format("a start fraction of {}", profile.start_fraction);
  if (!IsIn(profile.work.value(), 0, kWorkMax)) return fmt::format("work of {} FLOP", profile.work.value());
  for (const Bytes bytes : profile.flow_bytes) {
    if (!IsIn(bytes.value(), 0, kBytesMax)) return fmt::format("{} bytes", bytes.value());
  }
  return "";
}

void JobMeasurements::Add(JobId job, HostId host, const JobMeasured& message, const std::set<uint64_t>& held,
                          uint32_t gpus_max) {
  const auto [measured, is_first] = jobs_[job].try_emplace(host);
  if (is_first) ++num_measured_;
  HostMeasurement& known = measured->second;
  const auto mix = [&, first = is_first](double before, double now) {
    return first ? now : before + weight_ * (now - before);
  };
  known.num_gpus = std::min(message.num_gpus, gpus_max);
  AddPeriod(message.profile, &known);
  const double time = message.profile.iteration_time.value();
  known.compute_share = mix(known.compute_share, message.profile.compute_time.value() / time);
  known.start_fraction = mix(known.start_fraction, message.profile.start_fraction);
  known.work = FlopPerSecond(mix(known.work.value(), message.profile.work.value() / time));
  for (size_t c = 0; c < message.connections.size(); ++c) {
    if (!held.contains(message.connections[c])) continue;
    const double now = message.profile.flow_bytes[c].value() / time;
    const auto [place, is_new] = known.bytes.try_emplace(message.connections[c], BytesPerSecond(now));
    if (!is_new) place->second = BytesPerSecond(mix(place->second.value(), now));
  }
}

void JobMeasurements::AddPeriod(const model::MeasuredProfile& profile, HostMeasurement* known) {
  if (profile.is_period_known) {
    known->num_missed = 0;
    known->periods.push_back(profile.iteration_time.value());
    if (known->periods.size() > kPeriods) known->periods.pop_front();
  } else if (++known->num_missed > kPeriodsMissedMax) {
    known->periods.clear();
  }
  known->is_period_known = !known->periods.empty();
  known->iteration_time = known->is_period_known ? Seconds(MedianOf({known->periods.begin(), known->periods.end()}))
                                                 : profile.iteration_time;
}

void JobMeasurements::RemoveConnection(JobId job, HostId host, uint64_t connection) {
  const auto hosts = jobs_.find(job);
  if (hosts == jobs_.end()) return;
  const auto measured = hosts->second.find(host);
  if (measured != hosts->second.end()) measured->second.bytes.erase(connection);
}

void JobMeasurements::RemoveHost(JobId job, HostId host) {
  const auto hosts = jobs_.find(job);
  if (hosts == jobs_.end() || hosts->second.erase(host) == 0) return;
  --num_measured_;
  if (hosts->second.empty()) jobs_.erase(hosts);
}

void JobMeasurements::Forget(JobId job) {
  const auto hosts = jobs_.find(job);
  if (hosts == jobs_.end()) return;
  num_measured_ -= hosts->second.size();
  jobs_.erase(hosts);
}

size_t JobMeasurements::NumHosts(JobId job) const {
  const auto hosts = jobs_.find(job);
  return hosts == jobs_.end() ? 0 : hosts->second.size();
}

std::optional<JobMeasurement> JobMeasurements::Sum(JobId job, size_t num_hosts) const {
  const auto hosts = jobs_.find(job);
  if (hosts == jobs_.end()) return std::nullopt;
  JobMeasurement sum;
  std::vector<double> times;
  std::vector<double> compute_shares;
  std::vector<double> start_fractions;
  size_t num_known = 0;
  for (const auto& [host, measured] : hosts->second) {
    sum.num_gpus += measured.num_gpus;
    sum.work += measured.work;
    times.push_back(measured.iteration_time.value());
    compute_shares.push_back(measured.compute_share);
    start_fractions.push_back(measured.start_fraction);
    num_known += measured.is_period_known ? 1 : 0;
  }
  // Hosts report one after the other: those that have not yet do as much as the others.
  sum.work = sum.work * (static_cast<double>(num_hosts) / static_cast<double>(times.size()));
  sum.is_period_known = 2 * num_known > times.size();
  sum.iteration_time = Seconds(MedianOf(std::move(times)));
  sum.compute_share = MedianOf(std::move(compute_shares));
  sum.start_fraction = MedianOf(std::move(start_fractions));
  return sum;
}

std::map<uint64_t, BytesPerSecond> JobMeasurements::FindBytes(JobId job) const {
  std::map<uint64_t, BytesPerSecond> bytes;
  const auto hosts = jobs_.find(job);
  if (hosts == jobs_.end()) return bytes;
  for (const auto& [host, measured] : hosts->second) bytes.insert(measured.bytes.begin(), measured.bytes.end());
  return bytes;
}

}  // namespace fairlead::controller
