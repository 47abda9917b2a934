#include "experiments/packet-level/packet_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include "base/parallel_for.h"
#include "base/random.h"
#include "experiments/packet-level/all_cases.h"
#include "experiments/packet-level/skipped_states.h"
#include "experiments/packet-level/twin_case.h"
#include "experiments/packet-level/twin_errors.h"
#include "report/bar_figure.h"
#include "report/number_format.h"

namespace fairlead::experiments::packet_level {

namespace {

constexpr uint32_t kNumDraws = 10;
constexpr uint32_t kNumReducedDraws = 2;

struct DrawResult {
  TwinErrors plain;
  TwinErrors with_latency;
  double packets_s = 0;  // until everything has arrived
};

DrawResult RunDraw(const TwinCase& twin, uint64_t seed) {
  const TwinTimes packets = RunPackets(twin, seed);
  return {.plain = Compare(packets, RunFluid(twin, false)),
          .with_latency = Compare(packets, RunFluid(twin, true)),
          .packets_s = AllArrived(packets)};
}

// Over the draws of a family.
DrawResult Merge(const std::vector<DrawResult>& draws) {
  std::vector<TwinErrors> plain;
  std::vector<TwinErrors> with_latency;
  double packets_s = 0;
  for (const DrawResult& draw : draws) {
    plain.push_back(draw.plain);
    with_latency.push_back(draw.with_latency);
    packets_s += draw.packets_s / static_cast<double>(draws.size());
  }
  return {.plain = Merge(plain), .with_latency = Merge(with_latency), .packets_s = packets_s};
}

report::PageFigure DrawErrors(const std::vector<CaseFamily>& families, const std::vector<DrawResult>& results) {
  report::BarFigure figure;
  figure.title = "The fluid engine against packets";
  figure.description = "Mean error of the times of messages, two bars for each case.";
  figure.y_label = "mean error, %";
  figure.series = {"as it is", "with the latency of an empty path"};
  double most = 1;
  for (size_t f = 0; f < families.size(); ++f) {
    figure.groups.push_back({families[f].name, {results[f].plain.mean(), results[f].with_latency.mean()}, {}});
    most = std::max({most, results[f].plain.mean(), results[f].with_latency.mean()});
  }
  figure.y_domain = {0, 1.1 * most};
  return {figure.title, Draw(figure), "Of the time from when a message is ready until it has arrived."};
}

std::string Answer(const std::vector<CaseFamily>& families, const std::vector<DrawResult>& results) {
  size_t num_goals = 0;
  size_t num_met = 0;
  size_t worst = 0;
  double total = 0;
  for (size_t f = 0; f < families.size(); ++f) {
    if (families[f].goal > 0) {
      ++num_goals;
      num_met += results[f].plain.mean() <= families[f].goal ? 1 : 0;
    }
    if (results[f].plain.mean() > results[worst].plain.mean()) worst = f;
    total = std::max(total, std::abs(results[f].plain.total));
  }
  return fmt::format(
      "In {} of {} cases that have a goal (1 % for flows on one link, 5 % for rings with hashed paths) the mean error "
      "of the fluid engine against packets stays within it; it is largest in '{}' ({} %), and when everything has "
      "arrived is foretold to {} % in the worst case.",
      num_met, num_goals, families[worst].name, report::FormatFixed(results[worst].plain.mean(), 1),
      report::FormatFixed(total, 1));
}

// A name and numbers.
void AddLine(const std::string& name, const std::vector<double>& values, experiment::ResultTable* table) {
  auto& line = table->lines.emplace_back();
  line.emplace_back(name);
  for (const double value : values) line.emplace_back(value);
}

// Adds what skipping steady states does to training steps.
void AddSkipping(const std::vector<CaseFamily>& steps, const std::vector<SkippedStates>& results,
                 experiment::Outcome* outcome) {
  experiment::ResultTable skipping;
  skipping.title = "Steady states that are skipped (Wormhole): events saved, and errors against every packet, %";
  skipping.columns = {"case", "messages", "skipped, %", "saved, x", "mean", "p99", "all arrived"};
  experiment::ResultTable others;
  others.title = "Errors on the same steps, %: the fluid engine with latency, and every packet with other marks";
  others.columns = {"case", "mean", "all arrived", "steady rates", "marks: mean", "all arrived"};
  for (size_t f = 0; f < steps.size(); ++f) {
    const std::string& name = steps[f].name;
    const SkippedStates& result = results[f];
    outcome->Set(name + ": events saved", result.saved);
    outcome->Set(name + ": mean error of skipping", result.of_skipping.mean());
    outcome->Set(name + ": mean error of other marks", result.of_other_marks.mean());
    outcome->Set(name + ": mean error of the fluid engine", result.of_fluid.mean());
    outcome->Set(name + ": all arrived by the fluid engine", result.of_fluid.total);
    outcome->Set(name + ": rates of the fluid engine in steady states", result.of_steady_rates);
    AddLine(name,
            {result.num_messages, result.skipped_share, result.saved, result.of_skipping.mean(),
             result.of_skipping.p99(), result.of_skipping.total},
            &skipping);
    AddLine(name,
            {result.of_fluid.mean(), result.of_fluid.total, result.of_steady_rates, result.of_other_marks.mean(),
             result.of_other_marks.total},
            &others);
  }
  outcome->tables.push_back(std::move(skipping));
  outcome->tables.push_back(std::move(others));
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  const uint32_t num_draws =
      context.num_draws > 0 ? context.num_draws : (context.reduced ? kNumReducedDraws : kNumDraws);
  const std::vector<CaseFamily> families = AllCases(context.seed, num_draws, context.reduced);
  const std::vector<CaseFamily> steps = TrainingSteps(context.seed, std::max(1u, num_draws / 5), context.reduced);
  struct Piece {
    bool is_step;
    size_t family;
    size_t draw;
  };
  std::vector<Piece> pieces;
  std::vector<std::vector<DrawResult>> draws(families.size());
  std::vector<std::vector<SkippedStates>> step_draws(steps.size());
  const auto add_pieces = [&](bool are_steps, const std::vector<CaseFamily>& cases, auto* results) {
    for (size_t f = 0; f < cases.size(); ++f) {
      (*results)[f].resize(cases[f].draws.size());
      for (size_t d = 0; d < cases[f].draws.size(); ++d) pieces.push_back({are_steps, f, d});
    }
  };
  // The longest ones first.
  add_pieces(true, steps, &step_draws);
  add_pieces(false, families, &draws);
  std::mutex mutex;
  size_t num_done = 0;
  ParallelFor(pieces.size(), context.num_threads, *context.stop, [&](size_t i) {
    const auto [is_step, f, d] = pieces[i];
    const uint64_t seed = CombineHash(context.seed, d);
    if (is_step) {
      step_draws[f][d] = MeasureSkipping(steps[f].draws[d], seed);
    } else {
      draws[f][d] = RunDraw(families[f].draws[d], seed);
    }
    const std::lock_guard lock(mutex);
    context.Report(static_cast<double>(++num_done) / static_cast<double>(pieces.size()));
  });
  experiment::Outcome outcome;
  outcome.is_partial = num_done < pieces.size();
  if (outcome.is_partial) return outcome;

  std::vector<DrawResult> results;
  experiment::ResultTable table;
  table.title = "Errors of the fluid engine, %: times of messages, and the time until all has arrived";
  table.columns = {"case", "messages", "packets, ms", "mean", "p99", "all arrived"};
  experiment::ResultTable with_latency;
  with_latency.title = "The same with the latency of an empty path, %";
  with_latency.columns = {"case", "mean", "p99", "all arrived"};
  for (size_t f = 0; f < families.size(); ++f) {
    const DrawResult& result = results.emplace_back(Merge(draws[f]));
    const std::string& name = families[f].name;
    outcome.Set(name + ": mean error", result.plain.mean());
    outcome.Set(name + ": all arrived", result.plain.total);
    AddLine(name,
            {static_cast<double>(families[f].draws.front().packets.messages.size()), 1e3 * result.packets_s,
             result.plain.mean(), result.plain.p99(), result.plain.total},
            &table);
    AddLine(name, {result.with_latency.mean(), result.with_latency.p99(), result.with_latency.total}, &with_latency);
  }
  outcome.answer = Answer(families, results);
  outcome.tables.push_back(std::move(table));
  outcome.tables.push_back(std::move(with_latency));
  std::vector<SkippedStates> step_results;
  for (const std::vector<SkippedStates>& of_family : step_draws) step_results.push_back(Merge(of_family));
  AddSkipping(steps, step_results, &outcome);
  outcome.figures.push_back(DrawErrors(families, results));
  outcome.notes.push_back(fmt::format("{} draws of paths and partners where they are drawn; large messages of {} MB.",
                                      num_draws, context.reduced ? 8 : 64));
  return outcome;
}

}  // namespace fairlead::experiments::packet_level
