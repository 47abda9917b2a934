// Of the traffic controller: what jobs were measured to do, and which of them goes first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "controller/traffic_controller.h"
#include "traffic/gpu_intensity.h"
#include "traffic/link_traffic.h"

namespace fairlead::controller {
namespace {

constexpr double kIterationSecondsMax = 1e6;
// Of one iteration on one host; above what any hardware will do.
constexpr double kWorkMax = 1e24;
constexpr double kBytesMax = 1e18;
// Of ln(priority): jobs that differ by less than a thousandth are alike, also where they were never seen to vary.
constexpr double kLeastUncertainty = 1e-3;
constexpr double kNothingIsCertain = 1e3;

bool IsIn(double value, double low, double high) { return value >= low && value <= high; }

// The lower one of the two in the middle. Args: not empty.
double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string TrafficController::FindFault(const JobMeasured& message) const {
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

void TrafficController::Hear(HostId host, const JobMeasured& message) {
  const std::optional<JobId> id = FindJob(message.job);
  // Late messages of ended jobs are normal.
  if (!id || FindShare(*id, host) == nullptr) return;
  if (const std::string fault = FindFault(message); !fault.empty()) {
    return Object(host, fmt::format("measurement of job {}: {}: ignored", message.job, fault));
  }
  Share& share = jobs_.at(*id).shares.at(host);
  const bool is_first = !share.measured.has_value();
  if (is_first) ++num_measured_shares_;
  if (is_first) share.measured = Measurement{};  // Clang 14 knows no emplace() for a type nested in this class
  Measurement& known = *share.measured;
  const auto mix = [&](double before, double now) {
    return is_first ? now : before + options_.measurement_weight * (now - before);
  };
  known.num_gpus = std::min<uint32_t>(message.num_gpus, fabric_.num_gpus_of(host));
  known.iteration_time = Seconds(mix(known.iteration_time.value(), message.profile.iteration_time.value()));
  const double time = message.profile.iteration_time.value();
  known.is_period_known = message.profile.is_period_known;
  known.compute_share = mix(known.compute_share, message.profile.compute_time.value() / time);
  known.start_fraction = mix(known.start_fraction, message.profile.start_fraction);
  known.work = FlopPerSecond(mix(known.work.value(), message.profile.work.value() / time));
  for (size_t c = 0; c < message.connections.size(); ++c) {
    if (!share.connections.contains(message.connections[c])) continue;
    const double now = message.profile.flow_bytes[c].value() / time;
    const auto [place, is_new] = known.bytes.try_emplace(message.connections[c], BytesPerSecond(now));
    if (!is_new) place->second = BytesPerSecond(mix(place->second.value(), now));
  }
  jobs_.at(*id).is_measured_anew = true;
  are_levels_stale_ = true;
}

std::optional<TrafficController::Measurement> TrafficController::Sum(const Job& job) const {
  Measurement sum;
  std::vector<double> times;
  std::vector<double> compute_shares;
  std::vector<double> start_fractions;
  size_t num_known = 0;
  for (const auto& [host, share] : job.shares) {
    if (!share.measured) continue;
    sum.num_gpus += share.measured->num_gpus;
    sum.work += share.measured->work;
    times.push_back(share.measured->iteration_time.value());
    compute_shares.push_back(share.measured->compute_share);
    start_fractions.push_back(share.measured->start_fraction);
    num_known += share.measured->is_period_known ? 1 : 0;
  }
  if (times.empty()) return std::nullopt;
  // Hosts report one after the other: those that have not yet do as much as the others.
  sum.work = sum.work * (static_cast<double>(job.shares.size()) / static_cast<double>(times.size()));
  sum.is_period_known = 2 * num_known > times.size();
  sum.iteration_time = Seconds(MedianOf(std::move(times)));
  sum.compute_share = MedianOf(std::move(compute_shares));
  sum.start_fraction = MedianOf(std::move(start_fractions));
  return sum;
}

std::map<JobId, TrafficController::Measurement> TrafficController::SumAll() const {
  std::map<JobId, Measurement> sums;
  for (const auto& [id, job] : jobs_) {
    if (std::optional<Measurement> sum = Sum(job)) sums.emplace_hint(sums.end(), id, *std::move(sum));
  }
  return sums;
}

// A job of which a part of the hosts has reported, or a guessed period, says nothing of how fast it can be.
void TrafficController::RememberFastest(const std::map<JobId, Measurement>& sums) {
  for (const auto& [id, sum] : sums) {
    Job& job = jobs_.at(id);
    if (!job.is_measured_by_all() || !sum.is_period_known) continue;
    job.fastest_iteration = std::min(job.fastest_iteration.value_or(sum.iteration_time), sum.iteration_time);
  }
}

GpuId TrafficController::GpuBeside(NicId nic) const {
  const HostId host = fabric_.host_of(nic);
  const GpuId first = fabric_.first_gpu(host);
  for (uint32_t g = 0; g < fabric_.num_gpus_of(host); ++g) {
    const GpuId gpu(first.value() + g);
    if (fabric_.nic_of(gpu) == nic) return gpu;
  }
  return fabric_.num_gpus_of(host) > 0 ? first : GpuId();
}

void TrafficController::AddFlow(const traffic::HeldQueuePair& held, MeasuredJob* job) const {
  const GpuId source = GpuBeside(held.request->source);
  const GpuId destination = GpuBeside(held.request->destination);
  const auto bytes = job->bytes.find(held.request->connection);
  // Without a path, or without anything on it, it tells nothing of the job.
  if (held.links.empty() || bytes == job->bytes.end() || !source.valid() || !destination.valid()) return;
  const uint32_t num_queue_pairs = held.request->num_queue_pairs;
  job->flow_bytes.push_back(bytes->second * job->iteration_time / num_queue_pairs);
  job->paths.emplace_back(held.links.begin(), held.links.end());
  job->actual.flows.push_back({.source = source,
                               .destination = destination,
                               .bytes = Bytes(1),
                               .group = job->actual.num_groups++,
                               .queue_pair = static_cast<uint16_t>(held.queue_pair),
                               .num_queue_pairs = static_cast<uint16_t>(num_queue_pairs)});
}

std::vector<TrafficController::MeasuredJob> TrafficController::CollectMeasuredJobs(
    const std::map<JobId, Measurement>& sums) const {
  std::map<JobId, MeasuredJob> measured;
  for (const auto& [id, sum] : sums) {
    MeasuredJob& job = measured[id];
    job.iteration_time = sum.iteration_time;
    for (const auto& [host, share] : jobs_.at(id).shares) {
      if (share.measured) job.bytes.insert(share.measured->bytes.begin(), share.measured->bytes.end());
    }
  }
  paths_.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    const auto job = measured.find(held.lease.job);
    if (job != measured.end()) AddFlow(held, &job->second);
  });
  std::vector<MeasuredJob> jobs;
  for (auto& [id, job] : measured) {
    // On hashed paths that we don't know: nothing is known about it.
    if (job.actual.flows.empty()) continue;
    const Measurement& sum = sums.at(id);
    job.id = id;
    job.num_gpus = sum.num_gpus;
    job.is_period_known = sum.is_period_known;
    const model::MeasuredProfile profile = {.iteration_time = sum.iteration_time,
                                            .compute_time = sum.iteration_time * sum.compute_share,
                                            .start_fraction = sum.start_fraction,
                                            .work = sum.work * sum.iteration_time,
                                            .flow_bytes = job.flow_bytes};
    job.iteration = model::MakeMeasuredIteration(job.actual, profile);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

double TrafficController::PriorityUncertainty(const MeasuredJob& measured) {
  Job& job = jobs_.at(measured.id);
  uint64_t hash = measured.paths.size();
  for (const model::Path& path : measured.paths) {
    for (const LinkId link : path) hash = CombineHash(hash, link.value());
  }
  // Nor is what some of its hosts have measured a measurement of the job.
  if (std::exchange(job.paths_hash, hash) != hash || !job.is_measured_by_all()) job.spread.Forget();
  const double half_width = job.spread.HalfWidth(options_.order_error_probability);
  // An order that an earlier controller made outlives the time in which hosts report one after the other, until there
  // are two measurements to compare.
  if (job.is_restored && has_restored_ && half_width == 0) return kNothingIsCertain;
  return std::max(half_width, kLeastUncertainty);
}

void TrafficController::NoteIntensities(const traffic::TrafficSnapshot& snapshot) {
  const traffic::LinkTable links = traffic::MakeLinkTable(snapshot);
  traffic::LinkTrafficMeter meter(links);
  for (const traffic::JobView& view : snapshot.jobs) {
    const traffic::JobTraffic measured = meter.Measure(*view.iteration, view.paths);
    const FlopPerSecond intensity = traffic::ComputeProfile(view.id, *view.iteration, measured).intensity;
    jobs_.at(view.id).intensity = std::isfinite(intensity.value()) ? std::optional(intensity) : std::nullopt;
  }
}

void TrafficController::PlanLevels() {
  // Finding out whether there is anything to plan takes a pass over all connections: not with each message.
  if (!are_levels_stale_ || num_measured_shares_ == 0 || time_.now() < next_level_plan_) return;
  are_levels_stale_ = false;
  next_level_plan_ = time_.now() + options_.level_period;
  const std::map<JobId, Measurement> sums = SumAll();
  RememberFastest(sums);
  const std::vector<MeasuredJob> jobs = CollectMeasuredJobs(sums);
  if (jobs.empty()) return;
  if (std::exchange(is_router_stale_, false)) router_.SetHealth(health_);
  std::vector<traffic::JobView> views;
  for (const MeasuredJob& job : jobs) {
    views.push_back({.id = job.id,
                     .num_gpus = job.num_gpus,
                     .arrival_order = job.id.value(),
                     .iteration = &job.iteration,
                     .paths = job.paths,
                     .level = jobs_.at(job.id).level,
                     .relative_speed = 1,
                     .priority_uncertainty = PriorityUncertainty(job),
                     .is_period_known = job.is_period_known,
                     .starved_for = Seconds(0)});
  }
  const traffic::TrafficSnapshot snapshot = {.router = &router_,
                                             .health = &health_,
                                             .jobs = views,
                                             .num_levels = options_.num_levels,
                                             .hash_seed = 0,
                                             .random_seed = options_.random_seed,
                                             .changed_links = {}};
  NoteIntensities(snapshot);
  if (!options_.sets_levels) return;
  const traffic::TrafficPlan plan = policy_.Plan(snapshot);
  FL_CHECK(plan.jobs.size() == jobs.size());
  for (const traffic::JobPlan& job : plan.jobs) {
    if (std::exchange(jobs_.at(job.id).is_measured_anew, false)) jobs_.at(job.id).spread.Add(job.priority);
    SetLevel(job.id, job.level, job.reason);
  }
}

void TrafficController::SetLevel(JobId id, uint32_t level, const std::string& reason) {
  Job& job = jobs_.at(id);
  job.reason = reason;
  level = std::min(level, options_.num_levels - 1);
  if (level == job.level) return;
  job.level = level;
  KeepRecord(id, job);
  for (const auto& [host, share] : job.shares) {
    SendTo(host, LevelSet{.job = job.name, .level = level, .reason = reason});
  }
  Note(Noted::Severity::kInfo, "job " + job.name, fmt::format("level {}: {}", level, reason));
}

}  // namespace fairlead::controller
