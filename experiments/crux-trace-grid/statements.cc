#include "experiments/crux-trace-grid/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/statistics.h"

namespace fairlead::experiments::crux_trace_grid {

namespace {

const PolicyDraws& Of(const CellDraws& cell, std::string_view policy) { return cell.find(policy)->second; }

Statement GainOver(std::string text, std::string left, std::string right, double limit = 0) {
  return {.text = std::move(text), .unit = "points", .limit = limit, .measure = [=](const CellDraws& cell) {
            return BusyGain(cell, left, right);
          }};
}

// By how much the first policy's slowdowns are smaller than ECMP's.
Statement LessSlowdown(std::string text, std::string policy, std::vector<double> PolicyDraws::*slowdown) {
  return {.text = std::move(text), .unit = "%", .is_ours = true, .measure = [=](const CellDraws& cell) {
            std::vector<double> values;
            const std::vector<double>& with = Of(cell, policy).*slowdown;
            const std::vector<double>& without = Of(cell, "ecmp").*slowdown;
            for (size_t d = 0; d < with.size(); ++d) values.push_back(100 * std::log(without[d] / with[d]));
            return values;
          }};
}

Statement Ours(Statement statement) {
  statement.is_ours = true;
  return statement;
}

Statement OverBestRival(std::string text, std::string policy) {
  return {.text = std::move(text), .unit = "points", .is_ours = true, .measure = [=](const CellDraws& cell) {
            return BusyGain(cell, policy, BestRival(cell));
          }};
}

// What path selection gains, less the larger of the other two steps: priorities over the best rival, compression.
std::vector<double> PathsOverOtherSteps(const CellDraws& cell) {
  const std::vector<double> paths = BusyGain(cell, "crux-ps-pa", "crux-pa");
  const std::vector<double> priorities = BusyGain(cell, "crux-pa", BestRival(cell));
  const std::vector<double> compression = BusyGain(cell, "crux", "crux-ps-pa");
  std::vector<double> values;
  for (size_t d = 0; d < paths.size(); ++d) {
    values.push_back(paths[d] - std::max(priorities[d], std::abs(compression[d])));
  }
  return values;
}

}  // namespace

char MarkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds:
      return '+';
    case Verdict::kContradicted:
      return '-';
    case Verdict::kSame:
      return '=';
    case Verdict::kUndecided:
      return '?';
  }
  return '?';
}

Verdict Judge(std::span<const double> values, double limit) {
  const report::Spread spread = report::SpreadOf(values);
  if (!spread.has_interval()) return Verdict::kUndecided;
  if (limit == 0 && spread.low() >= -kSameMargin && spread.high() <= kSameMargin) return Verdict::kSame;
  if (spread.low() > limit) return Verdict::kHolds;
  return spread.high() < limit ? Verdict::kContradicted : Verdict::kUndecided;
}

Verdict JudgeAll(std::span<const Verdict> parts) {
  if (std::ranges::count(parts, Verdict::kContradicted) > 0) return Verdict::kContradicted;
  return std::ranges::all_of(parts, [](Verdict part) { return part == Verdict::kHolds; }) ? Verdict::kHolds
                                                                                          : Verdict::kUndecided;
}

std::string_view BestRival(const CellDraws& cell) {
  std::string_view best = kRivals[0];
  for (const std::string_view rival : kRivals) {
    if (Mean(Of(cell, rival).busy) > Mean(Of(cell, best).busy)) best = rival;
  }
  return best;
}

std::vector<double> BusyGain(const CellDraws& cell, std::string_view left, std::string_view right) {
  const std::vector<double>& with = Of(cell, left).busy;
  const std::vector<double>& without = Of(cell, right).busy;
  std::vector<double> gains;
  for (size_t d = 0; d < with.size(); ++d) gains.push_back(with[d] - without[d]);
  return gains;
}

std::vector<Statement> AllStatements(const PublishedGains& published) {
  const auto sized = [](std::string_view what, double points) {
    return fmt::format("{} by at least {:.0f} points", what, points);
  };
  return {
      GainOver("sincronia < taccl-star", "taccl-star", "sincronia"),
      GainOver("sincronia < cassini", "cassini", "sincronia"),
      GainOver("taccl-star < crux-pa", "crux-pa", "taccl-star"),
      GainOver("cassini < crux-pa", "crux-pa", "cassini"),
      GainOver("crux-pa < crux-ps-pa", "crux-ps-pa", "crux-pa"),
      GainOver("8 levels cost less than a point", "crux", "crux-ps-pa", -1),
      GainOver(sized("crux > sincronia", published.over_sincronia), "crux", "sincronia", published.over_sincronia),
      GainOver(sized("crux > taccl-star", published.over_taccl_star), "crux", "taccl-star", published.over_taccl_star),
      GainOver(sized("crux > cassini", published.over_cassini), "crux", "cassini", published.over_cassini),
      GainOver(sized("path selection gains", published.path_selection), "crux-ps-pa", "crux-pa",
               published.path_selection),
      {.text = "path selection is the largest step", .unit = "points", .measure = PathsOverOtherSteps},
      Ours(GainOver("crux > ecmp", "crux", "ecmp")),
      OverBestRival("crux > the best rival", "crux"),
      LessSlowdown("crux: mean slowdown < ecmp's", "crux", &PolicyDraws::mean_slowdown),
      LessSlowdown("crux: worst slowdown < ecmp's", "crux", &PolicyDraws::worst_slowdown),
      Ours(GainOver("crux+c4p > crux", "crux+c4p", "crux")),
      OverBestRival("crux+c4p > the best rival", "crux+c4p"),
      LessSlowdown("crux+c4p: mean slowdown < ecmp's", "crux+c4p", &PolicyDraws::mean_slowdown),
      LessSlowdown("crux+c4p: worst slowdown < ecmp's", "crux+c4p", &PolicyDraws::worst_slowdown),
  };
}

}  // namespace fairlead::experiments::crux_trace_grid
