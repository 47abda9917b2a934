#include "sim/profiling_window.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::sim {

namespace {

bool StaysOnNvlink(const TransferRoute& route, const topology::Fabric& fabric) {
  return std::all_of(route.links.begin(), route.links.end(),
                     [&](const TransferLink& use) { return fabric.tier(use.link) == topology::LinkTier::kNvlink; });
}

}  // namespace

ProfilingWindow::ProfilingWindow(JobState* job, const std::vector<TransferRoute>& routes,
                                 const topology::Fabric& fabric, SimTime from)
    : job_(job), private_stop_s_(job->clock.start_ns.size()) {
  watch_.from = from;
  watch_.bin_ns = kBinNs;
  watch_.counts_phase.assign(job->clock.start_ns.size(), 0);
  for (size_t t = 0; t < routes.size(); ++t) {
    const Transfer& transfer = job->transfers[t];
    if (!StaysOnNvlink(routes[t], fabric)) {
      watch_.counts_phase[transfer.phase] = 1;
    } else if (job->clock.blocks[transfer.phase] && routes[t].top_rate > 0) {
      double& stop_s = private_stop_s_[transfer.phase];
      stop_s = std::max(stop_s, transfer.bytes / routes[t].top_rate);
    }
  }
  job_->watch = &watch_;
  begin_ = TakeTotals();
}

ProfilingWindow::~ProfilingWindow() { job_->watch = nullptr; }

ProfilingWindow::Totals ProfilingWindow::TakeTotals() const {
  Totals totals;
  totals.compute_s = job_->ComputeSeconds();
  totals.clock_s = (static_cast<double>(job_->iterations_done) * static_cast<double>(job_->clock.total_ns) +
                    static_cast<double>(job_->progress_ns)) *
                   1e-9;
  for (size_t t = 0; t < job_->transfers.size(); ++t) {
    totals.sent.push_back(job_->SentBytes(t));
  }
  for (size_t p = 0; p < job_->clock.start_ns.size(); ++p) {
    totals.phase_starts.push_back(job_->iterations_done + (p < job_->phase ? 1 : 0));
  }
  return totals;
}

agent::WindowCounters ProfilingWindow::Read(SimTime now) const {
  FL_CHECK(now > watch_.from);
  const Totals end = TakeTotals();
  agent::WindowCounters counters;
  counters.length = (now - watch_.from).seconds();
  counters.flop = job_->FlopIn(end.compute_s - begin_.compute_s);
  double private_s = 0;
  for (size_t p = 0; p < private_stop_s_.size(); ++p) {
    if (watch_.counts_phase[p]) continue;
    private_s += static_cast<double>(end.phase_starts[p] - begin_.phase_starts[p]) * private_stop_s_[p];
  }
  const double on_clock_s = end.clock_s - begin_.clock_s;
  counters.stalled = Seconds(std::max(0.0, counters.length.value() - on_clock_s - private_s));
  counters.flow_bytes.resize(job_->iteration->flows.size());
  for (size_t t = 0; t < job_->transfers.size(); ++t) {
    if (!watch_.counts_phase[job_->transfers[t].phase]) continue;
    for (const uint32_t flow : job_->transfers[t].flows) {
      const bool leaves = !job_->paths[flow].empty();
      if (leaves) counters.flow_bytes[flow] = Bytes(end.sent[t] - begin_.sent[t]);
    }
  }
  counters.bin = SimDuration(kBinNs).seconds();
  counters.series = watch_.bytes;
  counters.series.resize(static_cast<size_t>((now - watch_.from).ns() / kBinNs));
  return counters;
}

}  // namespace fairlead::sim
