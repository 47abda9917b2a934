#include "sim/background_traffic.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/statistics.h"
#include "collective/rail_forwarding.h"

namespace fairlead::sim {
namespace {

// 0 of none.
double RankOf(const std::vector<double>& values, double share) {
  return values.empty() ? 0 : NearestRank(values, share);
}

double BytesOf(const model::Iteration& message) {
  double bytes = 0;
  for (const model::FlowDemand& flow : message.flows) bytes += flow.bytes.value();
  return bytes;
}

}  // namespace

BackgroundTraffic::BackgroundTraffic(const topology::Fabric& fabric, const BackgroundOptions& background,
                                     const Options& options, HealthyFabric* healthy, RunEngine* engine,
                                     CarriedAccount* carried, TrafficInForce* in_force)
    : fabric_(fabric),
      background_(background),
      options_(options),
      healthy_(healthy),
      engine_(engine),
      carried_(carried),
      in_force_(in_force),
      source_(background.spec, fabric, options.seed),
      next_id_(options.first_id.value()),
      totals_(background.spec.kv_transfers.size() + 1) {
  if (background.spec.is_empty()) return;
  FL_CHECK(background.routing != nullptr);
  router_.emplace(fabric);
}

uint32_t BackgroundTraffic::LevelOf(size_t stream) const {
  const BackgroundSpec& spec = background_.spec;
  return stream < spec.kv_transfers.size() ? spec.kv_transfers[stream].level : spec.storage_level;
}

controller::SetTraffic BackgroundTraffic::Route(const JobState& message) const {
  traffic::JobView view;
  view.id = message.id;
  view.iteration = message.iteration;
  view.paths = message.paths;
  traffic::TrafficPlan plan = background_.routing->Plan({.router = &*router_,
                                                         .health = health_ ? &*health_ : nullptr,
                                                         .jobs = std::span(&view, 1),
                                                         .hash_seed = options_.hash_seed});
  traffic::JobPlan& mine = plan.jobs.front();
  return {.job = message.id,
          .paths = std::move(mine.paths),
          .level = message.level,
          .time_shift = {},
          .senders = std::move(mine.senders),
          .reason = {}};
}

bool BackgroundTraffic::Begin() {
  const SimTime now = engine_->now();
  std::vector<BackgroundMessage> messages = source_.Take(now);
  for (BackgroundMessage& message : messages) {
    const JobId id(next_id_++);
    InFlight& flight = in_flight_[id];
    flight.stream = message.stream;
    flight.writer = message.writer;
    flight.iteration = std::make_unique<model::Iteration>(std::move(message.iteration));
    if (background_.forwards_by_rail) collective::ForwardByRail(fabric_, flight.iteration.get());
    if (background_.latency) collective::SetLatencies(*background_.latency, *router_, flight.iteration.get());
    flight.state = std::make_unique<JobState>(
        CreateJobState(id, 0, 1, *flight.iteration, options_.detail, now, options_.num_bins));
    JobState& state = *flight.state;
    state.is_background = true;
    state.solo = healthy_->yardstick().Find(id, *flight.iteration, 0);
    state.observed_until = now;
    state.level = LevelOf(message.stream);
    in_force_->Add(&state);
    in_force_->Adopt(Route(state));
  }
  return !messages.empty();
}

void BackgroundTraffic::End(std::vector<JobId>* finished) {
  std::erase_if(*finished, [this](JobId id) {
    const auto found = in_flight_.find(id);
    if (found == in_flight_.end()) return false;
    InFlight& flight = found->second;
    const JobState& state = *flight.state;
    carried_->Settle(*flight.state, engine_->now());
    in_force_->Remove(id);
    StreamTotals& totals = totals_[flight.stream];
    const double took_s = (state.finish_time - state.first_start).seconds().value();
    totals.times_s.push_back(took_s);
    totals.slowdowns.push_back(took_s / (static_cast<double>(state.solo.iteration_ns) * 1e-9));
    totals.bytes += BytesOf(*flight.iteration);
    if (flight.writer.valid()) source_.EndWrite(flight.writer);
    in_flight_.erase(found);
    return true;
  });
}

void BackgroundTraffic::SetHealth(const topology::LinkHealth& health) {
  if (!router_) return;
  router_->SetHealth(health);
  health_ = health;
  for (const auto& [id, flight] : in_flight_) in_force_->Adopt(Route(*flight.state));
}

std::vector<BackgroundResult> BackgroundTraffic::Finish() {
  const BackgroundSpec& spec = background_.spec;
  std::vector<BackgroundResult> results;
  for (size_t stream = 0; stream < totals_.size(); ++stream) {
    const StreamTotals& totals = totals_[stream];
    const bool is_kv = stream < spec.kv_transfers.size();
    if (!is_kv && spec.checkpoints.empty()) continue;
    results.push_back({.name = is_kv ? spec.kv_transfers[stream].name : "checkpoints",
                       .num_messages = totals.times_s.size(),
                       .num_skipped = is_kv ? 0 : source_.num_skipped(),
                       .gigabytes = totals.bytes / 1e9,
                       .mean_s = Mean(totals.times_s),
                       .p50_s = RankOf(totals.times_s, 0.5),
                       .p99_s = RankOf(totals.times_s, 0.99),
                       .max_s = RankOf(totals.times_s, 1),
                       .mean_slowdown = Mean(totals.slowdowns)});
  }
  for (const auto& [id, flight] : in_flight_) {
    carried_->Settle(*flight.state, engine_->now());
    ++results[std::min(flight.stream, results.size() - 1)].num_unfinished;
  }
  return results;
}

}  // namespace fairlead::sim
