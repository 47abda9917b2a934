#include "traffic/crux/priority_compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/random.h"
#include "traffic/level_groups.h"

namespace fairlead::traffic::crux {
namespace {

// Sum of all integer weights: large enough that rounding to integers is invisible, small enough that sums fit 64 bits.
constexpr double kIntegerTotal = 0x1.0p60;

// The DAG by upper job and by lower job, with integer weights.
class ScaledDag {
 public:
  struct Arc {
    uint32_t other;
    int64_t weight;
  };

  explicit ScaledDag(const ContentionDag& dag) : out_(dag.num_jobs), in_(dag.num_jobs) {
    double total = 0;
    for (const Edge& edge : dag.edges) total += std::abs(edge.weight);
    const double scale = total > 0 ? kIntegerTotal / total : 0;
    for (const Edge& edge : dag.edges) {
      FL_CHECK(edge.upper < edge.lower && edge.lower < dag.num_jobs && std::isfinite(edge.weight));
      has_negative_ |= edge.weight < 0;
      const int64_t weight = std::llround(edge.weight * scale);
      out_[edge.upper].push_back({edge.lower, weight});
      in_[edge.lower].push_back({edge.upper, weight});
    }
  }

  size_t size() const { return out_.size(); }
  std::span<const Arc> out(uint32_t job) const { return out_[job]; }
  std::span<const Arc> in(uint32_t job) const { return in_[job]; }
  bool has_negative() const { return has_negative_; }
  // The intensity of a job with another below it; 0 for the others, with an intensity that no edge carries.
  int64_t intensity(uint32_t job) const { return out_[job].empty() ? 0 : out_[job].front().weight; }

 private:
  std::vector<std::vector<Arc>> out_;
  std::vector<std::vector<Arc>> in_;
  bool has_negative_ = false;
};

// The best cut of one order.
struct Cut {
  std::vector<uint32_t> blocks;  // [position in the order]
  int64_t weight = 0;            // of the edges between blocks
};

// Algorithm 1 for one order, row by row: at row i, across_[j] is the weight from a_1..a_j into a_{j+1}..a_i, which is
// what a last block a_{j+1}..a_i cuts. It follows from the row before by the edges into a_i alone.
class OrderCutter {
 public:
  OrderCutter(const ScaledDag& dag, uint32_t num_levels)
      : dag_(dag), num_levels_(num_levels), position_(dag.size(), kOutside) {}

  Cut Run(std::span<const uint32_t> order);

 private:
  static constexpr uint32_t kOutside = ~uint32_t{0};

  void AddRow(std::span<const uint32_t> order, size_t row);
  void ExtendCuts(size_t row);
  // Blocks of one number of blocks are adjacent: the search for a cut walks over jobs.
  size_t At(size_t i, size_t k) const { return k * num_rows_ + i; }

  const ScaledDag& dag_;
  const size_t num_levels_;
  size_t num_rows_ = 0;               // jobs of the order, and 1
  std::vector<uint32_t> position_;    // [job] -> 1-based position in the order
  std::vector<int64_t> row_weights_;  // [position], scratch
  std::vector<int64_t> across_;       // [position]
  std::vector<int64_t> cut_;          // f[i][k], k blocks more than one
  std::vector<uint32_t> start_;       // g[i][k]: where the last of them starts
};

void OrderCutter::AddRow(std::span<const uint32_t> order, size_t row) {
  for (const ScaledDag::Arc& arc : dag_.in(order[row - 1])) {
    if (position_[arc.other] != kOutside) row_weights_[position_[arc.other]] += arc.weight;
  }
  int64_t sum = 0;
  for (size_t j = 1; j < row; ++j) {
    sum += row_weights_[j];
    row_weights_[j] = 0;
    across_[j] += sum;
  }
}

void OrderCutter::ExtendCuts(size_t row) {
  cut_[At(row, 0)] = 0;
  for (size_t k = 1; k < num_levels_; ++k) {
    // The smallest argmax never moves back from row to row: the edges into the new job from a_1..a_j only grow with j.
    // Where edges may weigh less than nothing it may.
    uint32_t best_start = dag_.has_negative() ? 0 : start_[At(row - 1, k)];
    int64_t best = std::numeric_limits<int64_t>::min();
    const int64_t* const before = &cut_[At(0, k - 1)];
    for (auto j = best_start; j <= row; ++j) {
      const int64_t weight = before[j] + across_[j];
      if (weight <= best) continue;
      best = weight;
      best_start = j;
    }
    cut_[At(row, k)] = best;
    start_[At(row, k)] = best_start;
  }
}

Cut OrderCutter::Run(std::span<const uint32_t> order) {
  const size_t n = order.size();
  for (size_t i = 0; i < n; ++i) position_[order[i]] = static_cast<uint32_t>(i + 1);
  num_rows_ = n + 1;
  row_weights_.assign(num_rows_, 0);
  across_.assign(num_rows_, 0);
  cut_.assign(num_rows_ * num_levels_, 0);
  start_.assign(num_rows_ * num_levels_, 0);
  for (size_t row = 1; row <= n; ++row) {
    AddRow(order, row);
    ExtendCuts(row);
  }
  Cut result;
  result.weight = cut_[At(n, num_levels_ - 1)];
  result.blocks.assign(n, 0);
  size_t end = n;
  for (size_t k = num_levels_ - 1; k > 0; --k) {
    const size_t first = start_[At(end, k)];
    for (size_t i = first; i < end; ++i) result.blocks[i] = static_cast<uint32_t>(k);
    end = first;
  }
  for (const uint32_t job : order) position_[job] = kOutside;
  return result;
}

// Jobs of each connected component, ascending; components by their first job.
std::vector<std::vector<uint32_t>> FindComponents(const ScaledDag& dag) {
  std::vector<std::vector<uint32_t>> components;
  std::vector<bool> seen(dag.size(), false);
  for (uint32_t root = 0; root < dag.size(); ++root) {
    if (seen[root]) continue;
    std::vector<uint32_t>& jobs = components.emplace_back(1, root);
    seen[root] = true;
    for (size_t next = 0; next < jobs.size(); ++next) {
      const uint32_t job = jobs[next];  // by value: the vector grows
      for (const std::span<const ScaledDag::Arc> arcs : {dag.out(job), dag.in(job)}) {
        for (const ScaledDag::Arc& arc : arcs) {
          if (!seen[arc.other]) jobs.push_back(arc.other);
          seen[arc.other] = true;
        }
      }
    }
    std::sort(jobs.begin(), jobs.end());
  }
  return components;
}

// Kahn's algorithm with a uniform pick among the jobs with all better ones placed.
std::vector<uint32_t> DrawTopologicalOrder(const ScaledDag& dag, std::span<const uint32_t> jobs, Random* random) {
  std::vector<uint32_t> missing(dag.size(), 0);
  std::vector<uint32_t> ready;
  for (const uint32_t job : jobs) {
    missing[job] = static_cast<uint32_t>(dag.in(job).size());
    if (missing[job] == 0) ready.push_back(job);
  }
  std::vector<uint32_t> order;
  order.reserve(jobs.size());
  while (!ready.empty()) {
    std::swap(ready[random->Below(ready.size())], ready.back());
    const uint32_t job = ready.back();
    ready.pop_back();
    order.push_back(job);
    for (const ScaledDag::Arc& arc : dag.out(job)) {
      if (--missing[arc.other] == 0) ready.push_back(arc.other);
    }
  }
  return order;
}

// By the length of the longest chain of betters, then by intensity, descending, then by rank.
std::vector<uint32_t> SortByDepth(const ScaledDag& dag, std::span<const uint32_t> jobs) {
  std::vector<uint32_t> depth(dag.size(), 0);
  for (const uint32_t job : jobs) {  // ascending ranks are a topological order
    for (const ScaledDag::Arc& arc : dag.in(job)) depth[job] = std::max(depth[job], depth[arc.other] + 1);
  }
  std::vector<uint32_t> order(jobs.begin(), jobs.end());
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (depth[a] != depth[b]) return depth[a] < depth[b];
    return dag.intensity(a) > dag.intensity(b);
  });
  return order;
}

// What no cut can exceed.
int64_t PositiveWeight(const ScaledDag& dag, std::span<const uint32_t> jobs) {
  int64_t total = 0;
  for (const uint32_t job : jobs) {
    for (const ScaledDag::Arc& arc : dag.out(job)) total += std::max<int64_t>(arc.weight, 0);
  }
  return total;
}

// Compresses jobs that no edge joins to others.
class GroupCompressor {
 public:
  GroupCompressor(const ScaledDag& dag, uint32_t num_levels, const CompressionOptions& options)
      : dag_(dag), options_(options), cutter_(dag, num_levels) {}

  void Run(std::span<const uint32_t> jobs, Random* random, std::vector<uint32_t>* levels) {
    std::optional<Cut> best;
    std::vector<uint32_t> best_order;
    const int64_t most = PositiveWeight(dag_, jobs);
    const auto try_order = [&](std::vector<uint32_t> order) {
      FL_CHECK(order.size() == jobs.size());
      Cut cut = cutter_.Run(order);
      if (best.has_value() && cut.weight <= best->weight) return;
      best = std::move(cut);
      best_order = std::move(order);
    };
    if (options_.try_depth_order) try_order(SortByDepth(dag_, jobs));
    for (uint32_t i = 0; i < options_.num_orders && !(best.has_value() && best->weight == most); ++i) {
      try_order(DrawTopologicalOrder(dag_, jobs, random));
    }
    for (size_t i = 0; i < best_order.size(); ++i) (*levels)[best_order[i]] = best->blocks[i];
  }

 private:
  const ScaledDag& dag_;
  const CompressionOptions& options_;
  OrderCutter cutter_;
};

double LossOf(const ContentionDag& dag, std::span<const uint32_t> levels) {
  double loss = 0;
  for (const Edge& edge : dag.edges) {
    if (levels[edge.upper] == levels[edge.lower]) loss += edge.weight;
  }
  return loss;
}

}  // namespace

double ContentionDag::total_weight() const {
  return std::accumulate(edges.begin(), edges.end(), 0.0,
                         [](double sum, const Edge& edge) { return sum + edge.weight; });
}

Status CompressionOptions::Validate() const {
  if (num_orders >= 1 || try_depth_order) return OkStatus();
  return InvalidArgument("crux compression: num_orders: expected >= 1 when try_depth_order is off, found 0");
}

Compression CompressPriorities(const ContentionDag& dag, uint32_t num_levels, const CompressionOptions& options,
                               uint64_t seed) {
  FL_CHECK(num_levels >= 1 && options.Validate().ok());
  const ScaledDag scaled(dag);
  Compression result;
  result.levels.assign(dag.num_jobs, 0);
  std::vector<std::vector<uint32_t>> groups;
  std::vector<uint32_t> connected;
  for (std::vector<uint32_t>& component : FindComponents(scaled)) {
    if (component.size() == 1) {
      result.levels[component[0]] = LevelOfRank(LevelRule::kEqualGroups, component[0], dag.num_jobs, num_levels);
    } else if (options.split_components) {
      groups.push_back(std::move(component));
    } else {
      connected.insert(connected.end(), component.begin(), component.end());
    }
  }
  if (!connected.empty()) {
    std::sort(connected.begin(), connected.end());
    groups.push_back(std::move(connected));
  }
  GroupCompressor compressor(scaled, num_levels, options);
  for (size_t group = 0; group < groups.size(); ++group) {
    Random random(CombineHash(seed, group));
    compressor.Run(groups[group], &random, &result.levels);
  }
  result.loss = LossOf(dag, result.levels);
  return result;
}

std::vector<uint32_t> CutOrder(const ContentionDag& dag, std::span<const uint32_t> order, uint32_t num_levels) {
  FL_CHECK(num_levels >= 1);
  const ScaledDag scaled(dag);
  return OrderCutter(scaled, num_levels).Run(order).blocks;
}

}  // namespace fairlead::traffic::crux
