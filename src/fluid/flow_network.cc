#include "fluid/flow_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace fairlead::fluid {

FlowNetwork::FlowNetwork(std::vector<double> capacities) : num_links_(static_cast<uint32_t>(capacities.size())) {
  solvers_.push_back(std::make_unique<MaxMinSolver>(&flows_, capacities));
  completions_.ResizeGroups(num_links_);
}

void FlowNetwork::Reserve(size_t num_flows, size_t num_uses) {
  flows_.Reserve(num_flows, num_uses);
  levels_of_.reserve(num_flows);
  completions_.ReserveFlows(num_flows);
}

FlowId FlowNetwork::AddFlow(std::span<const LinkUse> route, uint32_t level, double weight) {
  FL_CHECK(level < kMaxLevels);
  for (const LinkUse& use : route) FL_CHECK(use.link < num_links_);
  const FlowId flow = flows_.Add(route, weight);
  levels_of_.push_back(level);
  completions_.ResizeFlows(flows_.num_flows());
  return flow;
}

void FlowNetwork::AddLevelsUpTo(uint32_t level) {
  if (level < solvers_.size()) return;
  Solve();
  while (solvers_.size() <= level) {
    std::vector<double> leftovers(num_links_);
    for (uint32_t link = 0; link < num_links_; ++link) leftovers[link] = Leftover(*solvers_.back(), link);
    solvers_.push_back(std::make_unique<MaxMinSolver>(&flows_, leftovers));
  }
  completions_.ResizeGroups(solvers_.size() * num_links_);
}

void FlowNetwork::Start(FlowId id, double bytes) {
  const uint32_t flow = id.value();
  FL_CHECK_MSG(std::isfinite(bytes) && bytes >= 0, "a flow's bytes must be finite and not negative");
  FL_CHECK_MSG(!active(id), "the flow is active already");
  completions_.SetWork(flow, bytes / flows_.flow(flow).weight);
  if (flows_.flow(flow).ending) {
    flows_.flow(flow).ending = false;
    const uint32_t level = levels_of_[flow];
    completions_.Rejoin(flow, GroupOf(level, solvers_[level]->BottleneckLink(flow)), now_);
    return;
  }
  AddLevelsUpTo(levels_of_[flow]);
  solvers_[levels_of_[flow]]->Insert(flow);
  pending_ = true;
}

void FlowNetwork::Suspend(uint32_t flow) {
  solvers_[levels_of_[flow]]->Remove(flow);
  completions_.Drop(flow, now_);
  pending_ = true;
}

void FlowNetwork::RemoveEnded(uint32_t flow) {
  if (!flows_.flow(flow).ending) return;
  flows_.flow(flow).ending = false;
  solvers_[levels_of_[flow]]->Remove(flow);
}

void FlowNetwork::Cancel(FlowId flow) {
  FL_CHECK_MSG(active(flow), "only an active flow can be cancelled");
  Suspend(flow.value());
}

void FlowNetwork::SetLevel(FlowId id, uint32_t level) {
  FL_CHECK(level < kMaxLevels);
  const uint32_t flow = id.value();
  if (levels_of_[flow] == level) return;
  const bool was_active = active(id);
  RemoveEnded(flow);
  if (was_active) Suspend(flow);
  levels_of_[flow] = level;
  if (!was_active) return;
  AddLevelsUpTo(level);
  solvers_[level]->Insert(flow);
  pending_ = true;
}

void FlowNetwork::SetRoute(FlowId id, std::span<const LinkUse> route) {
  for (const LinkUse& use : route) FL_CHECK(use.link < num_links_);
  const uint32_t flow = id.value();
  const bool was_active = active(id);
  RemoveEnded(flow);
  if (was_active) Suspend(flow);
  flows_.SetRoute(id, route);
  if (was_active) solvers_[levels_of_[flow]]->Insert(flow);
}

void FlowNetwork::SetWeight(FlowId id, double weight) {
  const uint32_t flow = id.value();
  if (flows_.flow(flow).weight == weight) return;
  const bool was_active = active(id);
  const double bytes = Remaining(id);
  RemoveEnded(flow);
  if (was_active) Suspend(flow);
  flows_.SetWeight(id, weight);
  if (!was_active) return;
  completions_.SetWork(flow, bytes / weight);
  solvers_[levels_of_[flow]]->Insert(flow);
}

void FlowNetwork::SetCapacity(uint32_t link, double bytes_per_second) {
  FL_CHECK(link < num_links_);
  FL_CHECK_MSG(std::isfinite(bytes_per_second) && bytes_per_second >= 0, "a capacity must be finite and not negative");
  solvers_[0]->SetCapacity(link, bytes_per_second);
  pending_ = true;
}

double FlowNetwork::Leftover(const MaxMinSolver& solver, uint32_t link) const {
  const double free = solver.available(link);
  // What rounding leaves of a full link is nothing; a lower level must not live off it.
  return free < 1e-12 * capacity(link) ? 0 : free;
}

void FlowNetwork::Solve() {
  if (!pending_) return;
  for (const uint32_t flow : ending_) RemoveEnded(flow);
  ending_.clear();
  for (uint32_t level = 0; level < solvers_.size(); ++level) {
    if (solvers_[level]->pending()) SolveLevel(level);
  }
  pending_ = false;
}

void FlowNetwork::SolveLevel(uint32_t level) {
  MaxMinSolver& solver = *solvers_[level];
  solver.Solve();
  for (uint32_t link : solver.changed_groups()) {
    const double share = solver.share(link);
    completions_.SetShare(GroupOf(level, link), std::isfinite(share) ? share : 0, now_);
  }
  for (uint32_t flow : solver.moved_flows()) {
    completions_.Move(flow, GroupOf(level, solver.BottleneckLink(flow)), now_);
  }
  for (uint32_t link : solver.changed_groups()) completions_.Refresh(GroupOf(level, link), now_);
  if (!watchers_.empty()) {
    for (uint32_t link : solver.changed_links()) changed_ |= watchers_[link];
  }
  if (level + 1 < solvers_.size()) PassDownLeftovers(level);
}

void FlowNetwork::PassDownLeftovers(uint32_t level) {
  for (uint32_t link : solvers_[level]->changed_links()) {
    solvers_[level + 1]->SetCapacity(link, Leftover(*solvers_[level], link));
  }
}

SimTime FlowNetwork::NextCompletion() {
  Solve();
  return completions_.Next();
}

void FlowNetwork::AdvanceTo(SimTime t, std::vector<FlowId>* completed) {
  FL_CHECK_MSG(t >= now_ && t <= NextCompletion() && t < SimTime::Never(),
               "the clock can't pass a completion, nor run backwards");
  now_ = t;
  const size_t first = completed->size();
  completions_.TakeDue(now_, [&](uint32_t flow) { completed->push_back(FlowId(flow)); });
  std::sort(completed->begin() + static_cast<std::ptrdiff_t>(first), completed->end());
  for (size_t i = first; i < completed->size(); ++i) {
    const uint32_t flow = (*completed)[i].value();
    flows_.flow(flow).ending = true;
    ending_.push_back(flow);
  }
  pending_ |= !ending_.empty();
}

double FlowNetwork::Rate(FlowId flow) {
  if (!active(flow)) return 0;
  Solve();
  return solvers_[levels_of_[flow.index()]]->Rate(flow.value());
}

double FlowNetwork::Remaining(FlowId flow) const {
  if (!active(flow)) return 0;
  return completions_.Work(flow.value(), now_) * flows_.flow(flow.value()).weight;
}

uint32_t FlowNetwork::BottleneckLink(FlowId flow) {
  if (!active(flow)) return kNoLink;
  Solve();
  return solvers_[levels_of_[flow.index()]]->BottleneckLink(flow.value());
}

double FlowNetwork::Load(uint32_t link) {
  Solve();
  return capacity(link) - std::max(0.0, solvers_.back()->available(link));
}

void FlowNetwork::SetWatchers(uint32_t link, uint64_t watchers) {
  FL_CHECK(link < num_links_);
  watchers_.resize(num_links_);
  watchers_[link] = watchers;
}

uint64_t FlowNetwork::TakeChanged() {
  Solve();
  return std::exchange(changed_, 0);
}

void FlowNetwork::AppendFlowsOn(uint32_t link, std::vector<FlowId>* flows) const {
  for (const auto& solver : solvers_) {
    for (const MaxMinSolver::Crossing& crossing : solver->crossings(link)) {
      if (!flows_.flow(crossing.flow).ending) flows->push_back(FlowId(crossing.flow));
    }
  }
}

}  // namespace fairlead::fluid
