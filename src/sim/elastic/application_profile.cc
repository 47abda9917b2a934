#include "sim/elastic/application_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {
namespace {

constexpr double kRounding = 1e-8;  // as in the reference: keeps exact quotients from being rounded up
constexpr double kMostNodes = 16;   // scalability was measured up to there

uint32_t CeilOf(double value) { return static_cast<uint32_t>(std::ceil(value - kRounding)); }

Status CheckTime(const std::string& name, const PassTime& time, double local_batch) {
  if (std::isfinite(time.pass_s) && time.pass_s > 0 && time.sync_s >= 0 && time.sync_s <= time.pass_s &&
      local_batch > 0) {
    return OkStatus();
  }
  return InvalidArgument(
      fmt::format("profile {}: local batch {} takes {} s with {} s of synchronisation; expected 0 <= synchronisation "
                  "<= time, time > 0",
                  name, local_batch, time.pass_s, time.sync_s));
}

Status CheckValidations(const ProfileTables& tables) {
  if (tables.validations.empty()) {
    return InvalidArgument(fmt::format("profile {}: no validation table; expected one per batch", tables.name));
  }
  for (const auto& [batch, rows] : tables.validations) {
    if (rows.size() < tables.num_epochs) {
      return InvalidArgument(fmt::format("profile {}: validation of batch {} has {} epochs; expected at least {}",
                                         tables.name, batch, rows.size(), tables.num_epochs));
    }
    for (size_t e = 0; e < rows.size(); ++e) {
      const EpochRow& row = rows[e];
      const bool ascends = row.progress > (e == 0 ? 0 : rows[e - 1].progress);
      if (ascends && row.grad_sqr >= 0 && row.grad_var >= 0 && row.grad_sqr + row.grad_var > 0 &&
          std::isfinite(row.grad_sqr + row.grad_var + row.progress + row.iterations)) {
        continue;
      }
      return InvalidArgument(fmt::format(
          "profile {}: validation of batch {}, epoch {}: expected ascending progress and gradient statistics that are "
          "not negative and not both 0",
          tables.name, batch, e));
    }
  }
  return OkStatus();
}

Status CheckTables(const ProfileTables& tables) {
  const BatchLimits& limits = tables.limits;
  if (limits.first == 0 || limits.max < limits.first || limits.local_min == 0 || limits.local_max < limits.local_min ||
      tables.num_epochs == 0) {
    return InvalidArgument(
        fmt::format("profile {}: limits of batches or number of epochs are not positive and ascending", tables.name));
  }
  for (const PlacementRow& row : tables.placements) {
    FL_RETURN_IF_ERROR(CheckTime(tables.name, row.time, row.local_batch));
    if (row.placement.empty() || std::ranges::find(row.placement, 0u) != row.placement.end()) {
      return InvalidArgument(fmt::format("profile {}: a placement has no node, or one without GPUs", tables.name));
    }
  }
  for (const ScalabilityRow& row : tables.scalability) {
    FL_RETURN_IF_ERROR(CheckTime(tables.name, row.time, row.local_batch));
  }
  return CheckValidations(tables);
}

// Points (nodes, GPUs, local batch) with their times: measured placements of equal coordinates averaged, ascending;
// then the rows of scalability as they came. The order matters, see scattered_interpolation.h.
void CollectPoints(const ProfileTables& tables, std::vector<Point3>* points, std::vector<PassTime>* times) {
  struct Sum {
    PassTime time;
    double count = 0;
  };
  std::map<Point3, Sum> groups;
  for (const PlacementRow& row : tables.placements) {
    const double num_gpus = std::accumulate(row.placement.begin(), row.placement.end(), 0u);
    Sum& sum = groups[{static_cast<double>(row.placement.size()), num_gpus, row.local_batch}];
    sum.time.pass_s += row.time.pass_s;
    sum.time.sync_s += row.time.sync_s;
    sum.count += 1;
  }
  for (const auto& [point, sum] : groups) {
    points->push_back(point);
    times->push_back({sum.time.pass_s / sum.count, sum.time.sync_s / sum.count});
  }
  for (const ScalabilityRow& row : tables.scalability) {
    points->push_back({row.num_nodes, row.num_gpus, row.local_batch});
    times->push_back(row.time);
  }
}

}  // namespace

Result<ApplicationProfile> ApplicationProfile::Create(ProfileTables tables) {
  FL_RETURN_IF_ERROR(CheckTables(tables));
  std::vector<Point3> points;
  std::vector<PassTime> times;
  CollectPoints(tables, &points, &times);
  auto triangulation = Triangulation::Create(std::move(points));
  if (!triangulation.ok()) {
    return InvalidArgument(fmt::format("profile {}: {}", tables.name, triangulation.status().message()));
  }
  ApplicationProfile profile(std::move(tables), std::move(triangulation).value());
  profile.point_times_ = std::move(times);
  return profile;
}

ApplicationProfile::ApplicationProfile(ProfileTables tables, Triangulation triangulation)
    : tables_(std::move(tables)),
      progress_(tables_.num_epochs, std::numeric_limits<double>::infinity()),
      triangulation_(std::move(triangulation)) {
  for (const PlacementRow& row : tables_.placements) rows_of_[SmallestRotation(row.placement)].push_back(row);
  for (auto& [placement, rows] : rows_of_) std::ranges::stable_sort(rows, {}, &PlacementRow::local_batch);
  for (const auto& [batch, rows] : tables_.validations) {
    for (uint32_t e = 0; e < tables_.num_epochs; ++e) progress_[e] = std::min(progress_[e], rows[e].progress);
  }
  const auto alone = rows_of_.find({1});
  if (alone == rows_of_.end()) return;
  const double slowest_s =
      std::ranges::max(alone->second, {}, [](const PlacementRow& row) { return row.time.pass_s; }).time.pass_s;
  single_gpu_rate_ = alone->second.back().local_batch / slowest_s;
}

uint32_t ApplicationProfile::MaxGpus(uint32_t global_batch) const {
  const uint32_t by_batch = std::max(1u, global_batch / tables_.limits.local_min);
  return tables_.max_gpus > 0 ? std::min(tables_.max_gpus, by_batch) : by_batch;
}

std::optional<PassTime> ApplicationProfile::QueryMeasured(std::span<const PlacementRow> rows,
                                                          double local_batch) const {
  const auto above = std::ranges::lower_bound(rows, local_batch, {}, &PlacementRow::local_batch);
  if (above == rows.end()) return std::nullopt;
  if (above->local_batch == local_batch) return above->time;
  if (above == rows.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double part = (local_batch - below->local_batch) / (above->local_batch - below->local_batch);
  return PassTime{below->time.pass_s + part * (above->time.pass_s - below->time.pass_s),
                  below->time.sync_s + part * (above->time.sync_s - below->time.sync_s)};
}

std::optional<PassTime> ApplicationProfile::QueryPass(const GpusPerNode& placement, uint32_t local_batch) const {
  const auto measured = rows_of_.find(SmallestRotation(placement));
  if (measured != rows_of_.end()) return QueryMeasured(measured->second, local_batch);
  const double num_gpus = std::accumulate(placement.begin(), placement.end(), 0u);
  const double num_nodes = std::min(static_cast<double>(placement.size()), kMostNodes);
  const auto found = triangulation_.Locate({num_nodes, num_gpus, static_cast<double>(local_batch)});
  if (!found) return std::nullopt;
  PassTime time;
  for (size_t i = 0; i < 4; ++i) {
    time.pass_s += found->weights[i] * point_times_[found->points[i]].pass_s;
    time.sync_s += found->weights[i] * point_times_[found->points[i]].sync_s;
  }
  return time;
}

BatchLimits ApplicationProfile::LimitsOf(const GpusPerNode& placement) const {
  BatchLimits limits = tables_.limits;
  if (!tables_.local_max_as_measured) return limits;
  double most = 0;
  if (const auto measured = rows_of_.find(SmallestRotation(placement)); measured != rows_of_.end()) {
    most = measured->second.back().local_batch;
  } else {
    const uint32_t num_gpus = std::accumulate(placement.begin(), placement.end(), 0u);
    for (const ScalabilityRow& row : tables_.scalability) {
      const bool is_larger = row.num_nodes >= static_cast<double>(placement.size()) && row.num_gpus >= num_gpus;
      if (is_larger) most = std::max(most, row.local_batch);
    }
  }
  if (most > 0) limits.local_max = std::max(static_cast<uint32_t>(most), limits.local_min);
  return limits;
}

double ApplicationProfile::Interpolate(double global_batch, uint32_t epoch, double EpochRow::*column) const {
  const auto& tables = tables_.validations;
  auto above = tables.begin();
  while (above != tables.end() && above->first < global_batch) ++above;
  if (above == tables.end()) return tables.rbegin()->second[epoch].*column;
  if (above == tables.begin() || above->first == global_batch) return above->second[epoch].*column;
  const auto below = std::prev(above);
  const double part = (global_batch - below->first) / (static_cast<double>(above->first) - below->first);
  return below->second[epoch].*column * (1 - part) + above->second[epoch].*column * part;
}

GradientStats ApplicationProfile::QueryGradients(double global_batch, uint32_t epoch) const {
  return {Interpolate(global_batch, epoch, &EpochRow::grad_sqr), Interpolate(global_batch, epoch, &EpochRow::grad_var)};
}

double ApplicationProfile::IterationsAtEndOf(double global_batch, uint32_t epoch) const {
  return Interpolate(global_batch, epoch, &EpochRow::iterations);
}

GpusPerNode SmallestRotation(const GpusPerNode& placement) {
  GpusPerNode best = placement;
  GpusPerNode rotated = placement;
  for (size_t i = 1; i < placement.size(); ++i) {
    std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());
    best = std::min(best, rotated);
  }
  return best;
}

GpusPerNode DensePlacement(uint32_t num_gpus, uint32_t gpus_per_node) {
  GpusPerNode placement(num_gpus / gpus_per_node, gpus_per_node);
  if (num_gpus % gpus_per_node > 0) placement.push_back(num_gpus % gpus_per_node);
  return placement;
}

BatchSplit SplitBatch(const BatchLimits& limits, uint32_t num_gpus, uint32_t global_batch, SingleGpuRule rule) {
  FL_CHECK(num_gpus > 0);
  const uint32_t local = CeilOf(static_cast<double>(global_batch) / num_gpus);
  uint32_t accumulations = std::max(1u, CeilOf(static_cast<double>(local) / limits.local_max)) - 1;
  if (num_gpus == 1 && (rule == SingleGpuRule::kAlways || global_batch > limits.first)) {
    accumulations = std::max(1u, accumulations);
  }
  const uint32_t atomic = CeilOf(static_cast<double>(local) / (accumulations + 1));
  return {std::min(atomic, limits.max / (num_gpus * (accumulations + 1))), accumulations};
}

}  // namespace fairlead::sim
