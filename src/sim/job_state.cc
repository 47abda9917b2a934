#include "sim/job_state.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"

namespace fairlead::sim {

namespace {

// Flows of one phase in one group with equal bytes become one transfer.
std::vector<Transfer> BuildTransfers(const model::Iteration& iteration, Detail detail) {
  std::vector<Transfer> transfers;
  for (uint32_t p = 0; p < iteration.phases.size(); ++p) {
    const model::CommunicationPhase& phase = iteration.phases[p];
    std::map<std::pair<uint32_t, double>, size_t> by_group;
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const model::FlowDemand& flow = iteration.flows[f];
      FL_CHECK(flow.bytes.value() > 0);
      if (detail == Detail::kCoupled) {
        const auto [entry, is_new] = by_group.try_emplace({flow.group, flow.bytes.value()}, transfers.size());
        if (!is_new) {
          transfers[entry->second].flows.push_back(f);
          continue;
        }
      }
      transfers.push_back({.phase = p, .bytes = flow.bytes.value(), .flows = {f}});
    }
  }
  return transfers;
}

IterationClock BuildClock(const model::Iteration& iteration) {
  IterationClock clock;
  const Seconds total = iteration.compute_time + iteration.bubble_time;
  clock.total_ns = SimDuration::FromSeconds(total).ns();
  clock.busy_fraction = total.value() > 0 ? iteration.compute_time / total : 0;
  for (const model::CommunicationPhase& phase : iteration.phases) {
    FL_CHECK(phase.start_fraction >= 0 && phase.start_fraction <= 1);
    const auto start = static_cast<int64_t>(std::llround(phase.start_fraction * static_cast<double>(clock.total_ns)));
    FL_CHECK(clock.start_ns.empty() || start >= clock.start_ns.back());
    clock.start_ns.push_back(start);
    clock.blocks.push_back(phase.blocks_compute);
    FL_CHECK(phase.latency >= Seconds(0));
    clock.latency_ns.push_back(SimDuration::FromSeconds(phase.latency).ns());
  }
  return clock;
}

}  // namespace

double JobState::ComputeSeconds() const {
  const double on_clock_ns =
      static_cast<double>(iterations_done) * static_cast<double>(clock.total_ns) + static_cast<double>(progress_ns);
  return on_clock_ns * clock.busy_fraction * 1e-9;
}

Flop JobState::FlopIn(double compute_s) const {
  const double per_iteration_s = static_cast<double>(clock.total_ns) * 1e-9 * clock.busy_fraction;
  return per_iteration_s > 0 ? iteration->work * (compute_s / per_iteration_s) : Flop(0);
}

int64_t JobState::SoloNsLeft(SimTime now) const {
  FL_DCHECK(solo.phase_ns.size() == clock.start_ns.size());
  int64_t stall_ns = 0;       // with stalled compute, from now on
  int64_t phase_over_ns = 0;  // when the phase before is over, from now on
  for (size_t p = phase; p < clock.start_ns.size(); ++p) {
    const int64_t reached_ns = clock.start_ns[p] - progress_ns + stall_ns;
    int64_t length_ns = solo.phase_ns[p];
    if (p == phase && is_phase_running) {
      length_ns = arrives_at < SimTime::Never() ? (arrives_at - now).ns() : SoloNsLeftOfPhase();
    } else {
      phase_over_ns = std::max(phase_over_ns, reached_ns);
    }
    phase_over_ns += length_ns;
    if (clock.blocks[p]) stall_ns = std::max<int64_t>(0, phase_over_ns - (clock.start_ns[p] - progress_ns));
  }
  const int64_t left_ns = std::max(clock.total_ns - progress_ns + stall_ns, phase_over_ns);
  // Transfers of unequal length may be ahead of their phase for a while.
  return is_phase_running ? std::max(left_ns, solo_left_at_start_ns - (now - phase_start).ns()) : left_ns;
}

int64_t JobState::SoloNsLeftOfPhase() const {
  const auto sending_ns = static_cast<double>(SoloSendingNs(phase));
  return static_cast<int64_t>(std::llround((1 - SlowestFraction()) * sending_ns)) + clock.latency_ns[phase];
}

double JobState::Work(SimTime now) const {
  const double open =
      solo.iteration_ns > 0 ? 1 - static_cast<double>(SoloNsLeft(now)) / static_cast<double>(solo.iteration_ns) : 0;
  return static_cast<double>(iterations_done) + iteration_carry + std::clamp(open, 0.0, 1.0);
}

int64_t JobState::PhaseLossNs(SimTime now) const {
  return (now - phase_start).ns() + SoloNsLeft(now) - solo_left_at_start_ns;
}

size_t JobState::DelayShareIndex(LossCause cause, JobId culprit, LinkId link) {
  for (size_t i = 0; i < delay_shares.size(); ++i) {
    const DelayShare& share = delay_shares[i];
    if (share.cause == cause && share.culprit == culprit && share.link == link) return i;
  }
  delay_shares.push_back({cause, culprit, link, 0});
  return delay_shares.size() - 1;
}

double JobState::PhaseFraction() const {
  if (!is_phase_running) return 0;
  double total = 0;
  double left = 0;
  for (size_t t = 0; t < transfers.size(); ++t) {
    if (transfers[t].phase != phase) continue;
    total += transfers[t].bytes * static_cast<double>(transfers[t].flows.size());
    left += remaining[t] * static_cast<double>(transfers[t].flows.size());
  }
  return total > 0 ? 1 - left / total : 0;
}

double JobState::SlowestFraction() const {
  if (!is_phase_running) return 0;
  double left = 0;
  for (size_t t = 0; t < transfers.size(); ++t) {
    if (transfers[t].phase == phase && transfers[t].bytes > 0) left = std::max(left, remaining[t] / transfers[t].bytes);
  }
  // New shares may have left a transfer with more than it will have the next time.
  return std::clamp(1 - left, activity_counted, 1.0);
}

double JobState::CarriedBytes(size_t transfer) const {
  const Transfer& t = transfers[transfer];
  const double partial = is_phase_running && t.phase == phase ? t.bytes - remaining[transfer] : 0;
  return static_cast<double>(phase_runs[t.phase]) * t.bytes + partial - settled_bytes[transfer];
}

void JobState::SetTransferBytes(size_t transfer, double bytes) {
  Transfer& t = transfers[transfer];
  t.bytes = bytes;
  // The rest of the running phase continues as it was; it must count as not carried yet.
  if (is_phase_running && t.phase == phase) settled_bytes[transfer] = bytes - remaining[transfer];
}

void JobState::ReleaseMemory() {
  iteration = nullptr;
  transfers = {};
  paths = {};
  remaining = {};
  phase_runs = {};
  settled_bytes = {};
  sent_before = {};
  activity = {};
  is_phase_running = false;
  shares = nullptr;
  part_bytes = {};
  delay_shares = {};
  phase_took_ns = {};
}

JobState CreateJobState(JobId id, uint32_t num_gpus, uint64_t num_iterations, const model::Iteration& iteration,
                        Detail detail, SimTime start, size_t num_bins) {
  JobState job;
  job.id = id;
  job.num_gpus = num_gpus;
  job.num_iterations = num_iterations;
  job.iteration = &iteration;
  job.transfers = BuildTransfers(iteration, detail);
  job.clock = BuildClock(iteration);
  job.iteration_start = start;
  job.last_iteration_start = start;
  job.first_start = start;
  job.settled_at = start;
  job.last_iteration_end = start;
  job.remaining.assign(job.transfers.size(), 0);
  job.phase_runs.assign(iteration.phases.size(), 0);
  job.phase_took_ns.assign(iteration.phases.size(), 0);
  job.settled_bytes.assign(job.transfers.size(), 0);
  job.sent_before.assign(job.transfers.size(), 0);
  job.activity.assign(iteration.phases.size(), std::vector<float>(num_bins, 0.0f));
  job.event_hash = id.value();
  FL_CHECK_MSG(job.clock.total_ns > 0 || !job.transfers.empty(),
               "an iteration without compute and bytes takes no time");
  return job;
}

}  // namespace fairlead::sim
