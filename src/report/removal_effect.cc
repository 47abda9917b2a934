#include "report/removal_effect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

bool Contains(const auto& ids, auto id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// A transfer that has no path at all waits for no link: any failed one may be to blame.
bool IsBlamed(const sim::LossResult& loss, const Removal& removal) {
  if (loss.culprit.valid()) return Contains(removal.jobs, loss.culprit);
  if (loss.cause != sim::LossCause::kCapacity || removal.links.empty()) return false;
  return !loss.link.valid() || Contains(removal.links, loss.link);
}

std::string IterationOf(const sim::JobResult& job) {
  return job.iteration_s > 0 ? FormatDuration(job.iteration_s) : std::string(kUnknown);
}

}  // namespace

RemovalEffect CompareRemoval(const sim::JobResult& with, const sim::JobResult& without, const Removal& removal) {
  RemovalEffect effect;
  effect.removed = removal.descriptions;
  effect.with = with;
  effect.without = without;
  for (const sim::LossResult& loss : with.lost_to) {
    if (!IsBlamed(loss, removal)) continue;
    effect.blamed_s += loss.lost_s;
    effect.blamed_gpu_hours += loss.gpu_hours;
  }
  if (with.work > 0 && without.work > 0) {
    effect.gained_s = with.held_s - without.held_s / without.work * with.work;
    effect.gained_gpu_hours = effect.gained_s * with.num_gpus / 3600;
  } else {
    effect.gained_s = effect.gained_gpu_hours = std::nan("");
  }
  return effect;
}

Document RenderRemoval(const RemovalEffect& e) {
  const std::string removed = CleanText(fmt::format("{}", fmt::join(e.removed, ", ")));
  Document text = fmt::format("\nWithout {}\n", TruncateToWidth(removed, kTextWidth - 8));
  TextTable table({{"", Align::kLeft}, {"with", Align::kRight}, {"without", Align::kRight}});
  table.AddRow({"time per iteration", IterationOf(e.with), IterationOf(e.without)});
  table.AddRow({"slowdown", FormatSlowdown(e.with.slowdown, IsBound(e.with)),
                FormatSlowdown(e.without.slowdown, IsBound(e.without))});
  table.AddRow({"GPU-hours lost", FormatShort(e.with.lost_gpu_hours), FormatShort(e.without.lost_gpu_hours)});
  text += std::move(table);
  text += WrapText(
      fmt::format("The account blames {} ({} GPU-hours) on what was removed. Without it the same work takes "
                  "{} {} ({} GPU-hours).",
                  FormatDuration(e.blamed_s), FormatShort(e.blamed_gpu_hours), FormatDuration(std::abs(e.gained_s)),
                  e.gained_s < 0 ? "more" : "less", FormatShort(std::abs(e.gained_gpu_hours))),
      kTextWidth, 2);
  if (!e.moved.empty()) {
    text += WrapText(CleanText(fmt::format("That is not the only difference: without it, {} {} on other hosts.",
                                           fmt::join(e.moved, ", "), e.moved.size() == 1 ? "runs" : "run")),
                     kTextWidth, 2);
  }
  return text;
}

Json ToJson(const RemovalEffect& e) {
  const sim::JobResult& job = e.without;
  return {{"removed", e.removed},
          {"blamed_s", NumberOrNull(e.blamed_s)},
          {"blamed_gpu_hours", NumberOrNull(e.blamed_gpu_hours)},
          {"gained_s", NumberOrNull(e.gained_s)},
          {"gained_gpu_hours", NumberOrNull(e.gained_gpu_hours)},
          {"iteration_s", NumberOrNull(job.iteration_s)},
          {"slowdown", job.slowdown > 0 ? NumberOrNull(job.slowdown) : Json(nullptr)},
          {"slowdown_is_bound", IsBound(job)},
          {"lost_gpu_hours", NumberOrNull(job.lost_gpu_hours)},
          {"moved_jobs", e.moved}};
}

}  // namespace fairlead::report
