#include "experiments/crux-near-optimality/near_optimality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel_for.h"
#include "base/statistics.h"
#include "experiments/crux-near-optimality/case_search.h"
#include "experiments/crux-near-optimality/case_tests.h"
#include "experiments/crux-near-optimality/given_paths.h"
#include "report/axis.h"
#include "report/line_figure.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

constexpr size_t kNumCases = 1500;
constexpr size_t kNumReducedCases = 60;
constexpr double kFigureErrorMax = 0.5;

constexpr std::array<std::string_view, kNumTests> kTestNames = {"paths", "assignment", "compression"};

// Errors of one method in one test, ascending; empty where it has no rule for the mechanism.
std::vector<double> ErrorsOf(const std::vector<CaseResult>& cases, MechanismTest test, Method method) {
  std::vector<double> errors;
  for (const CaseResult& result : cases) {
    const double error = result.Error(test, method);
    if (std::isfinite(error)) errors.push_back(error);
  }
  std::ranges::sort(errors);
  return errors;
}

// Share of cases with at most each error, as a curve of steps.
report::LineSeries MakeCurve(const std::vector<double>& errors, Method method) {
  report::LineSeries curve;
  curve.label = std::string(Name(method));
  curve.color = method == Method::kWorst ? 0 : static_cast<size_t>(method) + 1;
  curve.stepped = true;
  const auto count = static_cast<double>(errors.size());
  const auto num_optimal = static_cast<double>(std::ranges::count_if(errors, [](double e) { return e <= kTie; }));
  curve.points.push_back({0, num_optimal / count});
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i] > kTie) curve.points.push_back({errors[i], static_cast<double>(i + 1) / count});
  }
  curve.points.push_back({kFigureErrorMax, curve.points.back().y});
  return curve;
}

report::PageFigure DrawTest(const std::vector<CaseResult>& cases, MechanismTest test) {
  report::LineFigure figure;
  const std::string_view name = kTestNames[static_cast<size_t>(test)];
  figure.title = fmt::format("Error of {} against the optimum", name);
  figure.description = "Share of the cases whose error is at most the value on the axis, one curve per method.";
  figure.x_label = "error (U* - U) / U*";
  figure.y_label = "share of cases";
  figure.x_domain = {0, kFigureErrorMax};
  figure.y_domain = {0, 1};
  figure.x_ticks = report::PlanTicks(figure.x_domain, 6);
  figure.y_ticks = report::PlanTicks(figure.y_domain, 6);
  figure.width = 760;
  for (size_t m = 0; m < kNumMethods; ++m) {
    const std::vector<double> errors = ErrorsOf(cases, test, static_cast<Method>(m));
    if (errors.empty()) continue;
    report::LineSeries curve = MakeCurve(errors, static_cast<Method>(m));
    std::erase_if(curve.points, [](const report::Point& point) { return point.x > kFigureErrorMax; });
    figure.series.push_back(std::move(curve));
  }
  return {figure.title, Draw(figure),
          fmt::format("Like Figure 16 of the paper; errors above {} not shown.", kFigureErrorMax)};
}

// Whether each method's mean error is smaller than that of the next one.
bool IsAscending(const std::vector<CaseResult>& cases, MechanismTest test, std::initializer_list<Method> methods) {
  double before = -1;
  for (const Method method : methods) {
    const double mean = Mean(ErrorsOf(cases, test, method));
    if (mean <= before) return false;
    before = mean;
  }
  return true;
}

void AddRows(const std::vector<CaseResult>& cases, experiment::Outcome* outcome) {
  for (size_t t = 0; t < kNumTests; ++t) {
    for (size_t m = 0; m < kNumMethods; ++m) {
      const std::vector<double> errors = ErrorsOf(cases, static_cast<MechanismTest>(t), static_cast<Method>(m));
      if (errors.empty()) continue;
      const std::string prefix = fmt::format("{}, {}: ", kTestNames[t], Name(static_cast<Method>(m)));
      const auto num_optimal = static_cast<double>(std::ranges::count_if(errors, [](double e) { return e <= kTie; }));
      outcome->Set(prefix + "mean share of optimum", 1 - Mean(errors));
      outcome->Set(prefix + "mean error", Mean(errors));
      outcome->Set(prefix + "median error", Median(errors));
      outcome->Set(prefix + "optimal cases", num_optimal / static_cast<double>(errors.size()));
    }
  }
  const bool in_order = IsAscending(cases, MechanismTest::kAssignment,
                                    {Method::kCrux, Method::kTacclStar, Method::kSincronia, Method::kVarys});
  outcome->Set("assignment: order of the methods", in_order ? 1 : 0);
}

using GivenCase = std::array<GivenPathsResult, kNumGivenPaths>;

// Mean errors over all cases, of one list of each result.
template <class List>
void SetGivenRows(const std::vector<GivenCase>& cases, size_t given, List GivenPathsResult::*list,
                  std::span<const std::string_view> names, std::string_view what, experiment::Outcome* outcome) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<double> errors;
    for (const GivenCase& results : cases) {
      if (std::isfinite((results[given].*list)[i])) errors.push_back((results[given].*list)[i]);
    }
    if (errors.empty()) continue;
    outcome->Set(fmt::format("{}, {}, {}: mean error", kGivenPathsNames[given], what, names[i]), Mean(errors));
  }
}

// The paper's order of mean errors: crux, taccl-star, sincronia, varys.
double IsInPapersOrder(const std::vector<GivenCase>& cases, size_t given) {
  double before = -1;
  for (const GivenOrder order :
       {GivenOrder::kCrux, GivenOrder::kTacclStar, GivenOrder::kSincronia, GivenOrder::kVarys}) {
    double sum = 0;
    for (const GivenCase& results : cases) sum += results[given].order[static_cast<size_t>(order)];
    if (sum <= before) return 0;
    before = sum;
  }
  return 1;
}

void AddGivenRows(const std::vector<GivenCase>& cases, experiment::Outcome* outcome) {
  for (size_t given = 0; given < kNumGivenPaths; ++given) {
    SetGivenRows(cases, given, &GivenPathsResult::order, kGivenOrderNames, "order", outcome);
    SetGivenRows(cases, given, &GivenPathsResult::best_cut, kGivenOrderNames, "best cut", outcome);
    SetGivenRows(cases, given, &GivenPathsResult::own_cut, kGivenOrderNames, "own cut", outcome);
    SetGivenRows(cases, given, &GivenPathsResult::levels, kGivenLevelsNames, "levels", outcome);
    outcome->Set(fmt::format("{}: order of the methods", kGivenPathsNames[given]), IsInPapersOrder(cases, given));
  }
}

void AddNotes(const std::vector<CaseResult>& cases, experiment::Outcome* outcome) {
  size_t num_simulations = 0;
  uint64_t num_rejected = 0;
  double optimum = 0;
  for (const CaseResult& result : cases) {
    num_simulations += result.num_simulations;
    num_rejected += result.num_rejected;
    optimum += result.optimum;
  }
  const auto count = static_cast<double>(cases.size());
  outcome->notes.push_back(fmt::format(
      "{} cases, {:.0f} simulations of {:.0f} s each per case; mean utilization of the optimum {:.3f}. {} draws "
      "in which no two jobs could contend were drawn again.",
      cases.size(), static_cast<double>(num_simulations) / count, kHorizonS, optimum / count, num_rejected));
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const size_t num_cases = context.reduced ? kNumReducedCases : kNumCases;
  std::vector<std::optional<CaseResult>> results(num_cases);
  std::vector<std::optional<GivenCase>> given_results(num_cases);
  std::mutex mutex;
  size_t num_done = 0;
  ParallelFor(num_cases, context.num_threads, *context.stop, [&](size_t i) {
    results[i] = RunCase(context.seed + i);
    given_results[i] = RunGivenPaths(context.seed + i);
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(num_cases));
  });
  std::vector<CaseResult> cases;
  for (const auto& result : results) {
    if (result) cases.push_back(*result);
  }
  experiment::Outcome outcome;
  outcome.is_partial = cases.size() < num_cases;
  if (cases.empty()) return outcome;
  AddRows(cases, &outcome);
  std::vector<GivenCase> given_cases;
  for (const auto& result : given_results) {
    if (result) given_cases.push_back(*result);
  }
  AddGivenRows(given_cases, &outcome);
  AddNotes(cases, &outcome);
  for (size_t t = 0; t < kNumTests; ++t) outcome.figures.push_back(DrawTest(cases, static_cast<MechanismTest>(t)));
  return outcome;
}

}  // namespace fairlead::experiments::crux_near_optimality
