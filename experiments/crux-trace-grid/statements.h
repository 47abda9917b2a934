// What the Crux paper says about its rivals, judged in one cell of the grid.
//
// Method      all policies of a draw have the same jobs on the same hosts, the same hashes and phases. So a statement
//             is a number of each draw that should lie above a limit (a difference of policies), and its verdict
//             follows from the 95 % interval of the mean (Student's t) over the draws.
// Units       busy in percentage points. Slowdowns are compared by 100 ln(a/b), per cent: one draw with a job that
//             nearly stands still would else decide a mean.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_summary.h"

namespace fairlead::experiments::crux_trace_grid {

// One policy in one cell; [draw], in the same order for all policies.
struct PolicyDraws {
  std::vector<double> busy;            // % of the GPU time that jobs hold
  std::vector<double> mean_slowdown;   // >= 1
  std::vector<double> worst_slowdown;  // >= 1
};

using CellDraws = std::map<std::string, PolicyDraws, std::less<>>;

enum class Verdict : uint8_t {
  kHolds,         // the interval lies above the limit
  kContradicted,  // it lies below
  kSame,          // it lies within kSameMargin of a limit of 0: no difference to speak of
  kUndecided,     // it contains the limit, or there is no interval
};

inline constexpr double kSameMargin = 0.1;  // points, per cent

// '+', '-', '=', '?'.
char MarkOf(Verdict verdict);

// Of one number for each draw. Only a limit of 0 can be met by no difference.
Verdict Judge(std::span<const double> values, double limit);

// Of a statement that others make up: it holds where all do, is contradicted where one is, and is undecided otherwise.
Verdict JudgeAll(std::span<const Verdict> parts);

struct Statement {
  std::string text;      // "sincronia < taccl-star"
  std::string unit;      // of what Measure returns: "points", "%"
  double limit = 0;      // what is measured should be above it
  bool is_ours = false;  // not of the paper
  std::function<std::vector<double>(const CellDraws&)> measure;
};

// Figure 23 of the paper, in points.
struct PublishedGains {
  double over_sincronia = 0;
  double over_taccl_star = 0;
  double over_cassini = 0;
  double path_selection = 0;  // crux-ps-pa over crux-pa
};

// The first kNumOrderStatements are the paper's order of the policies; then how much is gained, and what the paper does
// not look at. They need the policies below.
std::vector<Statement> AllStatements(const PublishedGains& published);
inline constexpr size_t kNumOrderStatements = 6;
inline constexpr std::string_view kWholeOrder = "the whole order of the policies";

inline constexpr std::string_view kGridPolicies[] = {"ecmp",    "sincronia",  "taccl-star", "cassini",
                                                     "crux-pa", "crux-ps-pa", "crux",       "crux+c4p"};
inline constexpr std::string_view kRivals[] = {"sincronia", "taccl-star", "cassini"};

// The rival with the highest mean; of equals the first.
std::string_view BestRival(const CellDraws& cell);

// left - right of each draw, in points.
std::vector<double> BusyGain(const CellDraws& cell, std::string_view left, std::string_view right);

}  // namespace fairlead::experiments::crux_trace_grid
