// Through the classes of CBC: the C interface installs signal handlers while it solves.
#include "scheduling/monkey_tree/migration_program.h"

#include <fmt/format.h>

#include <CbcModel.hpp>
#include <CoinError.hpp>
#include <CoinPackedMatrix.hpp>
#include <CoinPackedVector.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fairlead::scheduling::monkey_tree {
namespace {

// Columns of the program: four blocks of one for each segment and rack.
class MigrationColumns {
 public:
  explicit MigrationColumns(const RackView& racks)
      : num_racks_(racks.capacity.size()), num_pairs_(racks.segments.size() * num_racks_) {}

  int blocks(size_t s, size_t t) const { return At(0, s, t); }    // w_st
  int present(size_t s, size_t t) const { return At(1, s, t); }   // x_st
  int alone(size_t s, size_t t) const { return At(2, s, t); }     // y_st
  int distance(size_t s, size_t t) const { return At(3, s, t); }  // d_st
  int size() const { return static_cast<int>(4 * num_pairs_); }
  int num_whole() const { return static_cast<int>(3 * num_pairs_); }

 private:
  int At(size_t block, size_t s, size_t t) const { return static_cast<int>(block * num_pairs_ + s * num_racks_ + t); }

  size_t num_racks_;
  size_t num_pairs_;
};

struct MigrationRows {
  CoinPackedMatrix matrix;
  std::vector<double> lower, upper;

  void Add(const std::vector<int>& columns, const std::vector<double>& factors, double least, double most) {
    matrix.appendRow(CoinPackedVector(static_cast<int>(columns.size()), columns.data(), factors.data()));
    lower.push_back(least);
    upper.push_back(most);
  }
};

uint32_t SizeOf(const Segment& segment) { return std::accumulate(segment.blocks.begin(), segment.blocks.end(), 0u); }

void AddSegmentRows(const RackView& racks, size_t s, const MigrationColumns& columns, MigrationRows* rows) {
  const size_t num_racks = racks.capacity.size();
  const Segment& segment = racks.segments[s];
  const double size = SizeOf(segment);
  const double others = static_cast<double>(num_racks) - 1;
  const double never = COIN_DBL_MAX;
  std::vector<int> all;
  for (size_t t = 0; t < num_racks; ++t) all.push_back(columns.blocks(s, t));
  rows->Add(all, std::vector<double>(num_racks, 1), size, size);
  for (size_t t = 0; t < num_racks; ++t) {
    const double most = std::min<double>(size, racks.capacity[t]);
    const double before = segment.blocks[t];
    rows->Add({columns.blocks(s, t), columns.present(s, t)}, {1, -most}, -never, 0);
    rows->Add({columns.alone(s, t), columns.present(s, t)}, {1, -1}, -never, 0);
    rows->Add({columns.distance(s, t), columns.blocks(s, t)}, {1, -1}, -before, never);
    rows->Add({columns.distance(s, t), columns.blocks(s, t)}, {1, 1}, before, never);
    std::vector<int> elsewhere = {columns.alone(s, t)};
    std::vector<double> factors = {others};
    for (size_t other = 0; other < num_racks; ++other) {
      if (other == t) continue;
      elsewhere.push_back(columns.present(s, other));
      factors.push_back(1);
    }
    rows->Add(elsewhere, factors, -never, others);
  }
}

void AddRackRows(const RackView& racks, size_t t, const MigrationColumns& columns, MigrationRows* rows) {
  std::vector<int> held, crossing;
  std::vector<double> factors;
  for (size_t s = 0; s < racks.segments.size(); ++s) {
    const double rings = racks.segments[s].num_rings;
    held.push_back(columns.blocks(s, t));
    crossing.insert(crossing.end(), {columns.present(s, t), columns.alone(s, t)});
    factors.insert(factors.end(), {rings, -rings});
  }
  rows->Add(held, std::vector<double>(held.size(), 1), -COIN_DBL_MAX, racks.capacity[t]);
  rows->Add(crossing, factors, -COIN_DBL_MAX, racks.max_rings);
}

void LoadMigration(const RackView& racks, const MigrationColumns& columns, OsiClpSolverInterface* solver) {
  MigrationRows rows;
  rows.matrix = CoinPackedMatrix(false, 0, 0);
  rows.matrix.setDimensions(0, columns.size());
  for (size_t s = 0; s < racks.segments.size(); ++s) AddSegmentRows(racks, s, columns, &rows);
  for (size_t t = 0; t < racks.capacity.size(); ++t) AddRackRows(racks, t, columns, &rows);
  const auto num_columns = static_cast<size_t>(columns.size());
  const std::vector<double> lower(num_columns, 0);
  std::vector<double> upper(num_columns, 1);
  std::vector<double> objective(num_columns, 0);
  for (size_t s = 0; s < racks.segments.size(); ++s) {
    for (size_t t = 0; t < racks.capacity.size(); ++t) {
      upper[static_cast<size_t>(columns.blocks(s, t))] = racks.capacity[t];
      upper[static_cast<size_t>(columns.distance(s, t))] = COIN_DBL_MAX;
      objective[static_cast<size_t>(columns.distance(s, t))] = 1;
    }
  }
  solver->loadProblem(rows.matrix, lower.data(), upper.data(), objective.data(), rows.lower.data(), rows.upper.data());
  for (int c = 0; c < columns.num_whole(); ++c) solver->setInteger(c);
}

}  // namespace

Result<Defragmentation> SolveMigration(const RackView& racks) {
  std::vector<RackBlocks> where;
  for (const Segment& segment : racks.segments) where.push_back(segment.blocks);
  const std::vector<uint32_t> loads = RackLoads(racks.segments, where);
  if (std::ranges::all_of(loads, [&](uint32_t load) { return load <= racks.max_rings; })) {
    return Defragmentation{DefragmentationOutcome::kNotNeeded, {}};
  }
  const MigrationColumns columns(racks);
  try {
    OsiClpSolverInterface solver;
    solver.messageHandler()->setLogLevel(0);
    LoadMigration(racks, columns, &solver);
    CbcModel model(solver);
    model.setLogLevel(0);
    model.setMaximumNodes(kMostNodes);
    model.initialSolve();
    model.branchAndBound();
    const double* solution = model.bestSolution();
    if (solution == nullptr) return Defragmentation{DefragmentationOutcome::kNone, {}};
    for (size_t s = 0; s < where.size(); ++s) {
      for (size_t t = 0; t < racks.capacity.size(); ++t) {
        where[s][t] = static_cast<uint32_t>(std::lround(solution[columns.blocks(s, t)]));
      }
    }
  } catch (const CoinError& error) {
    return Internal(
        fmt::format("monkey-tree: the integer program of {} segments: {}", racks.segments.size(), error.message()));
  }
  return Defragmentation{DefragmentationOutcome::kFound, MovesTo(racks.segments, where)};
}

Defragmentation ExactMonkeyTree::Plan(const RackView& racks) const {
  Result<Defragmentation> plan = SolveMigration(racks);
  return plan.ok() ? *std::move(plan) : Defragmentation{DefragmentationOutcome::kNone, {}};
}

}  // namespace fairlead::scheduling::monkey_tree
