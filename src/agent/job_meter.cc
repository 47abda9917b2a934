#include "agent/job_meter.h"

#include <algorithm>
#include <utility>

#include "agent/job_profiler.h"

namespace fairlead::agent {

namespace {

constexpr double kShareOfShortGaps = 0.75;

}  // namespace

// Bins that begin in (from, to] hold what is a window old.
void JobMeter::ClearBins(Series* series, SimTime from, SimTime to) const {
  const int64_t last = BinOf(to);
  for (int64_t bin = std::max(BinOf(from), last - num_bins()) + 1; bin <= last; ++bin) {
    series->bins[static_cast<size_t>(bin % num_bins())] = 0;
  }
}

void JobMeter::Spread(Series* series, SimTime from, SimTime to, double bytes) const {
  if (bytes <= 0 || to <= from) return;
  const SimTime first = std::max(from, to - options_.window + options_.bin);
  const double per_ns = bytes / static_cast<double>((to - from).ns());
  for (int64_t bin = BinOf(first); bin <= BinOf(to); ++bin) {
    const int64_t begin = std::max(first.ns(), bin * options_.bin.ns());
    const int64_t end = std::min(to.ns(), (bin + 1) * options_.bin.ns());
    series->bins[static_cast<size_t>(bin % num_bins())] +=
        static_cast<float>(per_ns * static_cast<double>(std::max<int64_t>(0, end - begin)));
  }
}

void JobMeter::AddBytes(SimTime at, const std::string& job, std::span<const ConnectionSum> sums) {
  if (sums.empty()) {
    jobs_.erase(job);
    return;
  }
  const auto [entry, is_new] = jobs_.try_emplace(job);
  Job& known = entry->second;
  if (is_new) known.began_at = known.sampled_at = known.reported_at = at;
  if (at < known.sampled_at) return;
  std::map<uint64_t, Series> connections;
  for (const ConnectionSum& sum : sums) {
    auto found = known.connections.extract(sum.connection);
    Series series;
    if (found.empty()) {
      series = {.last_sum = sum.bytes, .bins = std::vector<float>(static_cast<size_t>(num_bins()))};
    } else {
      series = std::move(found.mapped());
      ClearBins(&series, known.sampled_at, at);
      Spread(&series, known.sampled_at, at, sum.bytes - series.last_sum);
      series.last_sum = sum.bytes;
    }
    connections.emplace(sum.connection, std::move(series));
  }
  known.connections = std::move(connections);
  known.sampled_at = at;
}

void JobMeter::AddGpus(SimTime at, std::span<const GpuSums> sums) {
  for (const GpuSums& sum : sums) {
    const auto found = jobs_.find(sum.job);
    if (found == jobs_.end()) continue;
    std::deque<GpuSample>& samples = found->second.gpus;
    if (!samples.empty()) {
      const GpuSums& last = samples.back().sums;
      if (last.num_gpus != sum.num_gpus || sum.flop < last.flop || sum.busy < last.busy) samples.clear();
    }
    samples.push_back({at, sum});
    while (samples.size() > 1 && samples[1].at <= at - options_.window) samples.pop_front();
  }
}

// The window begins with the first sample of GPUs in it, so that both kinds of counters are of the same time.
std::vector<controller::JobMeasured> JobMeter::Measure(const std::string& name, const Job& job) const {
  if (job.gpus.size() < 2) return {};
  const GpuSample& first = job.gpus.front();
  const GpuSample& last = job.gpus.back();
  const int64_t last_bin = BinOf(std::min(job.sampled_at, last.at)) - 1;  // the latest one may be half filled
  const int64_t first_bin =
      std::max({BinOf(first.at), BinOf(job.began_at) + 1, BinOf(job.sampled_at) - num_bins() + 1});
  // What a job does while it begins is not what it is like.
  if (last_bin - first_bin + 2 + num_bins() / 10 < num_bins()) return {};
  const auto length = static_cast<size_t>(last_bin - first_bin + 1);
  WindowCounters counters;
  counters.bin = options_.bin.seconds();
  counters.length = counters.bin * static_cast<double>(length);
  const double share = counters.length / (last.at - first.at).seconds();
  counters.flop = (last.sums.flop - first.sums.flop) * share;
  const Seconds busy = (last.sums.busy - first.sums.busy) * (share / std::max(1u, last.sums.num_gpus));
  counters.stalled = std::clamp(counters.length - busy, Seconds(0), counters.length);
  counters.resolution = ResolutionOf(job);
  counters.busy_resolution = std::max(counters.resolution, last.sums.resolution);
  counters.series.assign(length, 0);
  counters.busy_series = BusySeries(job, first_bin, length);
  controller::JobMeasured measured{.job = name, .num_gpus = last.sums.num_gpus, .profile = {}, .connections = {}};
  for (const auto& [connection, series] : job.connections) {
    double bytes = 0;
    for (size_t i = 0; i < length; ++i) {
      const float part = series.bins[static_cast<size_t>((first_bin + static_cast<int64_t>(i)) % num_bins())];
      counters.series[i] += part;
      bytes += part;
    }
    counters.flow_bytes.push_back(Bytes(bytes));
    measured.connections.push_back(connection);
  }
  measured.profile = MeasureProfile(counters).value_or(WholeWindowProfile(counters));
  return {std::move(measured)};
}

// The time between two samples that three quarters of the time were shorter than.
Seconds JobMeter::ResolutionOf(const Job& job) {
  std::vector<int64_t> gaps;
  for (size_t s = 1; s < job.gpus.size(); ++s) gaps.push_back((job.gpus[s].at - job.gpus[s - 1].at).ns());
  std::ranges::sort(gaps);
  const double all = static_cast<double>((job.gpus.back().at - job.gpus.front().at).ns());
  double passed = 0;
  for (const int64_t gap : gaps) {
    passed += static_cast<double>(gap);
    if (passed >= kShareOfShortGaps * all) return SimDuration(gap).seconds();
  }
  return Seconds(0);
}

// What GPUs computed between two samples is spread over the time between them, or between two readings of what they
// count; what is more than fits there was counted at the end of a stretch of computing, and is spread over the time
// that this took before the later sample.
std::vector<float> JobMeter::BusySeries(const Job& job, int64_t first_bin, size_t length) const {
  std::vector<float> series(length, 0.0f);
  for (size_t s = 1; s < job.gpus.size(); ++s) {
    const GpuSample& before = job.gpus[s - 1];
    const GpuSample& after = job.gpus[s];
    const Seconds busy = after.sums.busy - before.sums.busy;
    if (after.at <= before.at || busy <= Seconds(0)) continue;
    const auto took = SimDuration::FromSeconds(busy * (1.0 / std::max(1u, after.sums.num_gpus)));
    const auto reading = SimDuration::FromSeconds(after.sums.resolution);
    const SimTime from = after.at - std::max({took, after.at - before.at, reading});
    const double per_ns = busy.value() / static_cast<double>((after.at - from).ns());
    const int64_t last = std::min(BinOf(after.at), first_bin + static_cast<int64_t>(length) - 1);
    for (int64_t bin = std::max(BinOf(from), first_bin); bin <= last; ++bin) {
      const int64_t begin = std::max(from.ns(), bin * options_.bin.ns());
      const int64_t end = std::min(after.at.ns(), (bin + 1) * options_.bin.ns());
      series[static_cast<size_t>(bin - first_bin)] +=
          static_cast<float>(per_ns * static_cast<double>(std::max<int64_t>(0, end - begin)));
    }
  }
  return series;
}

std::vector<controller::JobMeasured> JobMeter::Report(SimTime now) {
  std::vector<controller::JobMeasured> reports;
  for (auto& [name, job] : jobs_) {
    if (now < job.reported_at + options_.report_period) continue;
    job.reported_at = now;
    for (controller::JobMeasured& measured : Measure(name, job)) reports.push_back(std::move(measured));
  }
  return reports;
}

SimTime JobMeter::NextDue() const {
  SimTime due = SimTime::Never();
  for (const auto& [name, job] : jobs_) due = std::min(due, job.reported_at + options_.report_period);
  return due;
}

}  // namespace fairlead::agent
