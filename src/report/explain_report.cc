#include "report/explain_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "report/json_report.h"
#include "report/loss_labels.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumLossesShown = 16;
constexpr size_t kNumDelayedShown = 10;
constexpr size_t kQuotedWidth = 40;
constexpr const char* kLevelMeaning = "priority in the switches, 0 first";
// A slowdown below this is the noise of start and end effects.
constexpr double kSlowdownNoticed = 1.005;

std::string Quoted(const std::string& name) { return '"' + ShownName(name, kQuotedWidth) + '"'; }

std::string RenderHeading(const JobExplanation& e) {
  std::string text =
      fmt::format("Job {} {}: {}", e.job.id.value(), Quoted(e.job.name), FormatCount(e.job.num_gpus, "GPU"));
  if (!e.job.model.empty()) text += ", model " + ShownName(e.job.model, kQuotedWidth);
  text += fmt::format("; policy {}, draw {}", ShownName(e.policy, kQuotedWidth), e.draw);
  if (e.partial) text += fmt::format("; PARTIAL run, stopped after {}", FormatDuration(e.simulated_s));
  return WrapText(text, kTextWidth, 2);
}

std::string DescribeSpeed(const JobExplanation& e) {
  const sim::JobResult& job = e.job;
  if (job.condition == sim::JobCondition::kNeverStarted || job.start_s < 0) {
    return "It never started, so nothing is known about its network.";
  }
  if (IsBound(job)) {
    return fmt::format(
        "It {}: no work for {} when the run ended. Slowdown {}, {} GPU-hours lost in this run.",
        job.condition == sim::JobCondition::kStalled ? "is stalled" : "is cut off by links that are down",
        FormatDuration(job.stalled_s), FormatSlowdown(job.slowdown, true), FormatShort(job.lost_gpu_hours));
  }
  if (job.slowdown <= 0) return "It has done no work.";
  const std::string times = job.iteration_s > 0
                                ? fmt::format("{} per iteration, {} alone: {}", FormatDuration(job.iteration_s),
                                              FormatDuration(job.solo_iteration_s), FormatSlowdown(job.slowdown))
                                : fmt::format("no iteration completed, {} alone: {}",
                                              FormatDuration(job.solo_iteration_s), FormatSlowdown(job.slowdown));
  if (job.slowdown < kSlowdownNoticed) return fmt::format("It runs at full speed: {}.", times);
  return fmt::format("It is slowed down: {}. That cost {} GPU-hours in this run, {} per day at this rate.", times,
                     FormatShort(job.lost_gpu_hours), FormatShort(e.lost_gpu_hours_per_day));
}

std::string DescribeBound(const JobExplanation& e) {
  if (e.job.bounding_link.empty())
    return "No link bounds it: its communication hides behind compute or stays inside hosts.";
  std::string text = fmt::format("Bounding link: {}", CleanText(e.job.bounding_link));
  double lost_s = 0;
  const ExplainedLoss* measured = nullptr;
  std::set<JobId> sharers;
  for (const ExplainedLoss& loss : e.losses) {
    if (loss.loss.link_name != e.job.bounding_link) continue;
    if (std::isfinite(loss.loss.lost_s)) lost_s += loss.loss.lost_s;
    if (loss.capacity_bytes_per_s > 0) measured = &loss;
    if (loss.other.id.valid()) sharers.insert(loss.other.id);
  }
  if (lost_s <= 0) return text + "; no time is lost there.";
  if (measured != nullptr) {
    text += fmt::format(" ({}, {} used)", FormatLinkSpeed(measured->capacity_bytes_per_s),
                        FormatPercent(measured->utilization));
  }
  if (sharers.empty()) return text + fmt::format("; {} lost there, to no other job.", FormatDuration(lost_s));
  return text + fmt::format(", where {} delay{} it; {} lost there.", FormatCount(sharers.size(), "other job"),
                            sharers.size() == 1 ? "s" : "", FormatDuration(lost_s));
}

// "Of 22.5 min lost: 53.3 % to more important jobs, 46.7 % to what the run can't name."
std::string DescribeBlame(const JobExplanation& e) {
  if (!(e.job.lost_s > 0) || e.losses.empty()) return "";
  std::map<sim::LossCause, double> by_cause;
  for (const ExplainedLoss& loss : e.losses) {
    if (std::isfinite(loss.loss.lost_s)) by_cause[loss.loss.cause] += loss.loss.lost_s;
  }
  std::vector<std::pair<double, sim::LossCause>> order;
  for (const auto& [cause, lost_s] : by_cause) order.emplace_back(-lost_s, cause);
  std::sort(order.begin(), order.end());
  std::vector<std::string> parts;
  for (const auto& [negative_s, cause] : order) {
    parts.push_back(fmt::format("{} to {}", FormatPercent(-negative_s / e.job.lost_s), CausePhrase(cause)));
  }
  return fmt::format("Of {} lost: {}.", FormatDuration(e.job.lost_s), fmt::join(parts, ", "));
}

std::string DescribeDecision(const JobExplanation& e) {
  return fmt::format("Decision: level {}, rank {} by priority (0 goes first). {}", e.job.level, e.job.priority_rank,
                     e.job.reason.empty() ? "The policy gave no reason." : "Reason: " + CleanText(e.job.reason));
}

std::string NameOf(const OtherJob& job) { return fmt::format("{} {}", job.id.value(), job.name); }

// A job that lost nothing has no rows: they would contain only rounding errors.
bool HasLosses(const JobExplanation& e) { return IsBound(e.job) || e.job.slowdown >= kSlowdownNoticed; }

Document RenderLosses(const JobExplanation& e) {
  if (!HasLosses(e)) return "";
  TextTable table({{"why", Align::kLeft, "",
                    "shares the link, yields to a more important job, self (its own flows collide), capacity (the link "
                    "is down or weak), background (checkpoints, traffic of inference)"},
                   {"other job", Align::kLeft},
                   {"GPUs", Align::kRight},
                   {"level", Align::kRight, "", kLevelMeaning},
                   {"link", Align::kLeft},
                   {"speed", Align::kRight},
                   {"used", Align::kRight, "", "share of the link's speed in use over the run, by all jobs"},
                   {"lost", Align::kRight, "", "time beyond what the same work takes alone"},
                   {"GPU-hours", Align::kRight, "", "that time on all GPUs of the job that loses it"}});
  double rest_s = 0;
  double rest_gpu_hours = 0;
  for (size_t i = 0; i < e.losses.size(); ++i) {
    const ExplainedLoss& loss = e.losses[i];
    if (i >= kNumLossesShown) {
      rest_s += loss.loss.lost_s;
      rest_gpu_hours += loss.loss.gpu_hours;
      continue;
    }
    const bool named = loss.other.id.valid();
    const bool measured = loss.capacity_bytes_per_s > 0;
    table.AddRow({std::string(CauseLabel(loss.loss.cause)), named ? NameOf(loss.other) : "",
                  named ? FormatCount(loss.other.num_gpus) : "", named ? FormatCount(loss.other.level) : "",
                  loss.loss.link_name, measured ? FormatLinkSpeed(loss.capacity_bytes_per_s) : "",
                  measured ? FormatPercent(loss.utilization) : "", FormatDuration(loss.loss.lost_s),
                  FormatShort(loss.loss.gpu_hours)});
  }
  if (table.empty()) return "";
  if (e.losses.size() > kNumLossesShown) {
    table.AddRow({fmt::format("{} more", e.losses.size() - kNumLossesShown), "", "", "", "", "", "",
                  FormatDuration(rest_s), FormatShort(rest_gpu_hours)});
  }
  table.AddRow({"in all", "", "", "", "", "", "", FormatDuration(e.job.lost_s), FormatShort(e.job.lost_gpu_hours)});
  return "\nWhere it loses time, and why\n" + Document(std::move(table));
}

Document RenderDelayed(const JobExplanation& e) {
  TextTable table({{"job", Align::kLeft},
                   {"GPUs", Align::kRight},
                   {"level", Align::kRight, "", kLevelMeaning},
                   {"how", Align::kLeft, "", "yields to this job's higher level, or shares the link with it"},
                   {"lost", Align::kRight},
                   {"GPU-hours", Align::kRight}});
  for (size_t i = 0; i < std::min(e.delayed.size(), kNumDelayedShown); ++i) {
    const DelayedJob& delayed = e.delayed[i];
    table.AddRow({NameOf(delayed.job), FormatCount(delayed.job.num_gpus), FormatCount(delayed.job.level),
                  delayed.yielded ? "yields" : "shares", FormatDuration(delayed.lost_s),
                  FormatShort(delayed.gpu_hours)});
  }
  if (table.empty()) return "";
  Document text = "\nJobs that it delays\n" + Document(std::move(table));
  if (e.delayed.size() > kNumDelayedShown) {
    text += fmt::format("… and {} more.\n", FormatCount(e.delayed.size() - kNumDelayedShown, "job"));
  }
  return text;
}

Json LossToJson(const ExplainedLoss& loss) {
  Json json = ToJson(loss.loss);
  const bool measured = loss.capacity_bytes_per_s > 0;
  json["job_name"] = loss.other.id.valid() ? Json(loss.other.name) : Json(nullptr);
  json["link_capacity_bytes_per_s"] = measured ? NumberOrNull(loss.capacity_bytes_per_s) : Json(nullptr);
  json["link_utilization"] = measured ? NumberOrNull(loss.utilization) : Json(nullptr);
  return json;
}

Json DelayedToJson(const DelayedJob& delayed) {
  return {{"job", delayed.job.id.value()},
          {"name", delayed.job.name},
          {"gpus", delayed.job.num_gpus},
          {"level", delayed.job.level},
          {"lost_s", NumberOrNull(delayed.lost_s)},
          {"gpu_hours", NumberOrNull(delayed.gpu_hours)},
          {"yielded", delayed.yielded}};
}

}  // namespace

Document RenderExplanation(const JobExplanation& explanation) {
  Document text = RenderHeading(explanation);
  for (const std::string& sentence : {DescribeSpeed(explanation), DescribeBound(explanation),
                                      DescribeBlame(explanation), DescribeDecision(explanation)}) {
    if (!sentence.empty()) text += "  " + WrapText(sentence, kTextWidth - 2, 2);
  }
  return text + RenderLosses(explanation) + RenderDelayed(explanation);
}

Json ToJson(const JobExplanation& explanation) {
  const sim::JobResult& job = explanation.job;
  Json losses = Json::array();
  for (const ExplainedLoss& loss : explanation.losses) losses.push_back(LossToJson(loss));
  Json delayed = Json::array();
  for (const DelayedJob& entry : explanation.delayed) delayed.push_back(DelayedToJson(entry));
  return {{"job", job.id.value()},
          {"name", job.name},
          {"policy", explanation.policy},
          {"draw", explanation.draw},
          {"seed", explanation.seed},
          {"partial", explanation.partial},
          {"gpus", job.num_gpus},
          {"level", job.level},
          {"priority_rank", job.priority_rank},
          {"state", sim::JobConditionName(job.condition)},
          {"work", NumberOrNull(job.work)},
          {"iteration_s", NumberOrNull(job.iteration_s)},
          {"solo_iteration_s", NumberOrNull(job.solo_iteration_s)},
          {"slowdown", job.slowdown > 0 ? NumberOrNull(job.slowdown) : Json(nullptr)},
          {"slowdown_is_bound", IsBound(job)},
          {"bounding_link", NameOrNull(job.bounding_link)},
          {"reason", job.reason},
          {"lost_s", NumberOrNull(job.lost_s)},
          {"lost_gpu_hours", NumberOrNull(job.lost_gpu_hours)},
          {"lost_gpu_hours_per_day", NumberOrNull(explanation.lost_gpu_hours_per_day)},
          {"lost_to", std::move(losses)},
          {"delayed", std::move(delayed)}};
}

}  // namespace fairlead::report
