#include "traffic/crux/priority_compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "traffic/level_groups.h"

namespace fairlead::traffic::crux {
namespace {

// Sum of all integer weights: large enough that rounding to integers is invisible, small enough that sums fit 64 bits.
constexpr double kIntegerTotal = 0x1.0p60;

// The DAG as a matrix of bits, with integer weights: orders are drawn and cut by passes over rows of words.
class ScaledDag {
 public:
  explicit ScaledDag(const ContentionDag& dag)
      : size_(dag.num_jobs),
        num_words_((dag.num_jobs + size_t{63}) / 64),
        betters_(size_ * num_words_),
        worse_(size_ * num_words_),
        intensities_(size_),
        positive_weights_(size_) {
    double total = 0;
    for (const Edge& edge : dag.edges) total += std::abs(edge.weight);
    const double scale = total > 0 ? kIntegerTotal / total : 0;
    std::vector<bool> has_worse(size_);
    double last_weight = 0;
    int64_t weight = 0;
    for (const Edge& edge : dag.edges) {
      FL_CHECK(edge.upper < edge.lower && edge.lower < size_ && std::isfinite(edge.weight));
      if (edge.weight != last_weight) {  // mostly it is that of the edge before
        last_weight = edge.weight;
        weight = std::llround(edge.weight * scale);
      }
      SetBit(&betters_, edge.lower, edge.upper);
      SetBit(&worse_, edge.upper, edge.lower);
      if (!has_worse[edge.upper]) intensities_[edge.upper] = weight;
      has_worse[edge.upper] = true;
      is_by_upper_ &= weight == intensities_[edge.upper];
      has_negative_ |= edge.weight < 0;
      positive_weights_[edge.upper] += std::max<int64_t>(weight, 0);
    }
    if (!is_by_upper_) ListWeights(dag, scale);
  }

  size_t size() const { return size_; }
  size_t num_words() const { return num_words_; }
  // Bits of the jobs that have an edge to this one, and of those that it has one to.
  std::span<const uint64_t> betters(uint32_t job) const { return RowOf(betters_, job); }
  std::span<const uint64_t> worse(uint32_t job) const { return RowOf(worse_, job); }
  // All edges from one job weigh the same: its intensity.
  bool is_by_upper() const { return is_by_upper_; }
  bool has_negative() const { return has_negative_; }
  // The weight of a job's first edge to another one; 0 for a job with an intensity that no edge carries.
  int64_t intensity(uint32_t job) const { return intensities_[job]; }
  // Of all its edges that weigh more than nothing.
  int64_t positive_weight(uint32_t job) const { return positive_weights_[job]; }
  // Weights of edges to a job, in the order of its betters. Only where is_by_upper() is false.
  std::span<const int64_t> weights_to(uint32_t job) const {
    return std::span(weights_).subspan(first_weight_[job], first_weight_[job + 1] - first_weight_[job]);
  }

 private:
  void SetBit(std::vector<uint64_t>* rows, uint32_t row, uint32_t bit) const {
    (*rows)[row * num_words_ + bit / 64] |= uint64_t{1} << (bit % 64);
  }
  std::span<const uint64_t> RowOf(const std::vector<uint64_t>& rows, uint32_t row) const {
    return std::span(rows).subspan(row * num_words_, num_words_);
  }

  void ListWeights(const ContentionDag& dag, double scale) {
    std::vector<const Edge*> by_lower;
    by_lower.reserve(dag.edges.size());
    for (const Edge& edge : dag.edges) by_lower.push_back(&edge);
    std::sort(by_lower.begin(), by_lower.end(), [](const Edge* a, const Edge* b) {
      return a->lower != b->lower ? a->lower < b->lower : a->upper < b->upper;
    });
    first_weight_.assign(size_ + 1, 0);
    weights_.reserve(by_lower.size());
    for (const Edge* edge : by_lower) {
      weights_.push_back(std::llround(edge->weight * scale));
      ++first_weight_[edge->lower + 1];
    }
    std::partial_sum(first_weight_.begin(), first_weight_.end(), first_weight_.begin());
  }

  size_t size_;
  size_t num_words_;  // of a row
  std::vector<uint64_t> betters_;
  std::vector<uint64_t> worse_;
  std::vector<int64_t> intensities_;
  std::vector<int64_t> positive_weights_;
  bool is_by_upper_ = true;
  bool has_negative_ = false;
  std::vector<size_t> first_weight_;  // [lower job] into weights_
  std::vector<int64_t> weights_;
};

// Args: visit(job) for each bit, ascending.
template <class Visit>
void ForEachBit(std::span<const uint64_t> words, Visit visit) {
  for (size_t word = 0; word < words.size(); ++word) {
    for (uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
      visit(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
    }
  }
}

bool HasBit(std::span<const uint64_t> words, uint32_t bit) { return (words[bit / 64] >> (bit % 64) & 1) != 0; }

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
  void FindStart(size_t row, size_t k, size_t first, size_t last);
  // Blocks of one number of blocks are adjacent: the search for a cut walks over jobs.
  size_t At(size_t i, size_t k) const { return k * num_rows_ + i; }

  const ScaledDag& dag_;
  const size_t num_levels_;
  size_t num_rows_ = 0;                 // jobs of the order, and 1
  std::vector<uint32_t> position_;      // [job] -> 1-based position in the order
  std::vector<int64_t> row_weights_;    // [position], scratch
  std::vector<int64_t> order_weights_;  // [position], intensities
  std::vector<int64_t> across_;         // [position]
  std::vector<int64_t> cut_;            // f[i][k], k blocks more than one
  std::vector<uint32_t> start_;         // g[i][k]: where the last of them starts
};

void OrderCutter::AddRow(std::span<const uint32_t> order, size_t row) {
  const std::span<const uint64_t> betters = dag_.betters(order[row - 1]);
  int64_t sum = 0;
  if (dag_.is_by_upper()) {
    for (size_t j = 1; j < row; ++j) {
      // Without a branch: half of the jobs meet in bad cases, and no two rows are alike.
      sum += order_weights_[j] & -static_cast<int64_t>(HasBit(betters, order[j - 1]));
      across_[j] += sum;
    }
    return;
  }
  auto weight = dag_.weights_to(order[row - 1]).begin();
  ForEachBit(betters, [&](uint32_t better) {
    if (position_[better] != kOutside) row_weights_[position_[better]] += *weight;
    ++weight;
  });
  for (size_t j = 1; j < row; ++j) {
    sum += row_weights_[j];
    row_weights_[j] = 0;
    across_[j] += sum;
  }
}

// The first of the best starts of the last block, k blocks more than one, among first..last.
void OrderCutter::FindStart(size_t row, size_t k, size_t first, size_t last) {
  const int64_t* const before = &cut_[At(0, k - 1)];
  size_t best_start = first;
  int64_t best = std::numeric_limits<int64_t>::min();
  for (size_t j = first; j <= last; ++j) {
    const int64_t weight = before[j] + across_[j];
    if (weight <= best) continue;
    best = weight;
    best_start = j;
  }
  cut_[At(row, k)] = best;
  start_[At(row, k)] = static_cast<uint32_t>(best_start);
}

void OrderCutter::ExtendCuts(size_t row) {
  cut_[At(row, 0)] = 0;
  if (dag_.has_negative()) {
    for (size_t k = 1; k < num_levels_; ++k) FindStart(row, k, 0, row);
    return;
  }
  // Where no edge weighs less than nothing, the first best start never moves back from row to row, as the edges into
  // the new job from a_1..a_j only grow with j; nor with a block more, as what that wins of a_1..a_j only grows with j
  // (quadrangle inequality); and an empty last block is never better than one of a job.
  size_t last = row - 1;
  for (size_t k = num_levels_ - 1; k > 0; --k) {
    FindStart(row, k, start_[At(row - 1, k)], last);
    last = start_[At(row, k)];
  }
}

Cut OrderCutter::Run(std::span<const uint32_t> order) {
  const size_t n = order.size();
  num_rows_ = n + 1;
  order_weights_.assign(num_rows_, 0);
  for (size_t i = 0; i < n; ++i) {
    position_[order[i]] = static_cast<uint32_t>(i + 1);
    order_weights_[i + 1] = dag_.intensity(order[i]);
  }
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
  std::vector<uint64_t> unseen(dag.num_words(), ~uint64_t{0});
  std::vector<uint64_t> found(dag.num_words());
  for (uint32_t root = 0; root < dag.size(); ++root) {
    if (!HasBit(unseen, root)) continue;
    std::vector<uint32_t>& jobs = components.emplace_back(1, root);
    unseen[root / 64] &= ~(uint64_t{1} << (root % 64));
    for (size_t next = 0; next < jobs.size(); ++next) {
      const uint32_t job = jobs[next];  // by value: the vector grows
      for (size_t word = 0; word < found.size(); ++word) {
        found[word] = (dag.betters(job)[word] | dag.worse(job)[word]) & unseen[word];
        unseen[word] &= ~found[word];
      }
      ForEachBit(found, [&](uint32_t other) { jobs.push_back(other); });
    }
    std::sort(jobs.begin(), jobs.end());
  }
  return components;
}

// Tells when all betters of a job are placed: each job waits for one of them at a time, the worst that is missing,
// which is likely to be the last to come.
class PlacedBetters {
 public:
  explicit PlacedBetters(const ScaledDag& dag)
      : dag_(dag),
        placed_(dag.num_words()),
        num_open_words_(dag.size(), static_cast<uint32_t>(dag.num_words())),
        first_waiting_(dag.size(), kNobody),
        next_waiting_(dag.size(), kNobody) {}

  // Whether there is none left to place; else the job waits. Not for a job that waits.
  bool IsReady(uint32_t job) {
    const std::span<const uint64_t> betters = dag_.betters(job);
    for (uint32_t& num_words = num_open_words_[job]; num_words > 0; --num_words) {
      const uint64_t missing = betters[num_words - 1] & ~placed_[num_words - 1];
      if (missing == 0) continue;
      const uint32_t better = num_words * 64 - 1 - static_cast<uint32_t>(std::countl_zero(missing));
      next_waiting_[job] = std::exchange(first_waiting_[better], job);
      return false;
    }
    return true;
  }
  // Appends those that this makes ready, ascending.
  void Place(uint32_t job, std::vector<uint32_t>* ready) {
    placed_[job / 64] |= uint64_t{1} << (job % 64);
    const auto num_before = static_cast<ptrdiff_t>(ready->size());
    for (uint32_t waiting = first_waiting_[job]; waiting != kNobody;) {
      const uint32_t next = next_waiting_[waiting];
      if (IsReady(waiting)) ready->push_back(waiting);
      waiting = next;
    }
    std::sort(ready->begin() + num_before, ready->end());
  }

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};

  const ScaledDag& dag_;
  std::vector<uint64_t> placed_;          // bits
  std::vector<uint32_t> num_open_words_;  // [job]: no better is missing in the words behind these
  std::vector<uint32_t> first_waiting_;   // [better]
  std::vector<uint32_t> next_waiting_;    // [job] that waits for the same better
};

// Kahn's algorithm with a uniform pick among the jobs with all better ones placed.
std::vector<uint32_t> DrawTopologicalOrder(const ScaledDag& dag, std::span<const uint32_t> jobs, Random* random) {
  PlacedBetters placed(dag);
  std::vector<uint32_t> ready;
  for (const uint32_t job : jobs) {
    if (placed.IsReady(job)) ready.push_back(job);
  }
  std::vector<uint32_t> order;
  order.reserve(jobs.size());
  while (!ready.empty()) {
    std::swap(ready[random->Below(ready.size())], ready.back());
    const uint32_t job = ready.back();
    ready.pop_back();
    order.push_back(job);
    placed.Place(job, &ready);
  }
  return order;
}

// By the length of the longest chain of betters, then by intensity, descending, then by rank.
std::vector<uint32_t> SortByDepth(const ScaledDag& dag, std::span<const uint32_t> jobs) {
  std::vector<uint32_t> depth(dag.size(), 0);
  for (const uint32_t job : jobs) {  // ascending ranks are a topological order
    ForEachBit(dag.betters(job), [&](uint32_t better) { depth[job] = std::max(depth[job], depth[better] + 1); });
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
  for (const uint32_t job : jobs) total += dag.positive_weight(job);
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
