#include "agent/probe_schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead::agent {

namespace {

constexpr size_t kPiecesPerSearchMax = 4;

}  // namespace

ProbeSchedule::ProbeSchedule(const ProbeScheduleOptions& options, SimTime now)
    : options_(options), tokens_(options.probes_per_second), filled_at_(now) {}

size_t ProbeSchedule::NumPieces(size_t num_ports, bool is_search) const {
  const size_t fewest = (num_ports + options_.ports_per_order - 1) / options_.ports_per_order;
  if (!is_search || num_ports == 0) return fewest;
  return std::max(fewest, std::clamp<size_t>(num_ports / options_.ports_per_search_piece, 1, kPiecesPerSearchMax));
}

size_t ProbeSchedule::Take(const controller::ProbesWanted& wanted) {
  std::deque<ProbeOrder>& queue = waiting_[wanted.round == 0 ? kScan : kWatch];
  ProbeOrder* last = nullptr;
  for (const controller::PortScanWanted& scan : wanted.scans) {
    const size_t num_ports = scan.source_ports.size();
    const size_t num_pieces = NumPieces(num_ports, wanted.round == 0);
    for (size_t i = 0; i < num_pieces; ++i) {
      const size_t first = i * num_ports / num_pieces;
      const size_t end = (i + 1) * num_ports / num_pieces;
      ProbeOrder order{.number = 0, .round = wanted.round, .scan = scan, .ends_round = false};
      order.scan.source_ports.assign(scan.source_ports.begin() + static_cast<ptrdiff_t>(first),
                                     scan.source_ports.begin() + static_cast<ptrdiff_t>(end));
      last = &queue.emplace_back(std::move(order));
    }
  }
  if (last != nullptr) last->ends_round = true;
  size_t num_dropped = 0;
  for (; queue.size() > options_.num_scans_max; ++num_dropped) queue.pop_front();
  return num_dropped;
}

void ProbeSchedule::Fill(SimTime now) {
  if (now <= filled_at_) return;  // the clock may be stopped
  tokens_ =
      std::min(options_.probes_per_second, tokens_ + (now - filled_at_).seconds().value() * options_.probes_per_second);
  filled_at_ = now;
}

double ProbeSchedule::CostOf(const ProbeOrder& order) const {
  return static_cast<double>(order.scan.source_ports.size()) * options_.packets_per_port;
}

std::optional<ProbeOrder> ProbeSchedule::Next(SimTime now, Urgency urgency) {
  Fill(now);
  std::deque<ProbeOrder>& queue = waiting_[urgency];
  const double least = urgency == kScan ? -options_.probes_per_second : 0;
  if (queue.empty() || under_way_[urgency].has_value() || tokens_ <= least) return std::nullopt;
  ProbeOrder order = std::move(queue.front());
  queue.pop_front();
  order.number = ++num_orders_;
  tokens_ -= CostOf(order);
  under_way_[urgency] = order;
  return order;
}

std::optional<ProbeOrder> ProbeSchedule::Finish(uint64_t number) {
  for (auto& order : under_way_) {
    if (order.has_value() && order->number == number) return std::exchange(order, std::nullopt);
  }
  return std::nullopt;
}

void ProbeSchedule::Forget() {
  for (auto& queue : waiting_) queue.clear();
}

SimTime ProbeSchedule::NextDue() const {
  SimTime due = SimTime::Never();
  for (const Urgency urgency : {kScan, kWatch}) {
    if (waiting_[urgency].empty() || under_way_[urgency].has_value()) continue;
    const double missing = (urgency == kScan ? -options_.probes_per_second : 0) - tokens_;
    const double wait_ns = missing < 0 ? 0 : std::ceil(missing / options_.probes_per_second * 1e9) + 1;
    due = std::min(due, filled_at_ + SimDuration(static_cast<int64_t>(wait_ns)));
  }
  return due;
}

}  // namespace fairlead::agent
