#include "report/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumLinksShown = 10;
constexpr size_t kNumDelayedShown = 10;
constexpr size_t kNameWidth = 40;
// A slowdown below this is the noise of start and end effects.
constexpr double kSlowdownNoticed = 1.005;

std::string Quoted(const std::string& name) { return '"' + TruncateToWidth(CleanText(name), kNameWidth) + '"'; }

std::string RenderHeading(const JobExplanation& e) {
  std::string text =
      fmt::format("Job {} {}: {}", e.job.id.value(), Quoted(e.job.name), FormatCount(e.job.num_gpus, "GPU"));
  if (!e.job.model.empty()) text += ", model " + TruncateToWidth(CleanText(e.job.model), kNameWidth);
  text += fmt::format("; policy {}, seed {}", TruncateToWidth(CleanText(e.policy), kNameWidth), e.seed);
  if (e.partial) text += fmt::format("; PARTIAL run, stopped after {}", FormatDuration(e.simulated_s));
  return WrapText(text, kTextWidth, 2);
}

std::string DescribeSpeed(const JobExplanation& e) {
  const sim::JobResult& job = e.job;
  if (job.start_s < 0) return "It never began, so nothing can be said about its network.";
  if (job.slowdown <= 0) return "It completed no iteration.";
  const std::string times = fmt::format("{} per iteration, {} alone: {}", FormatDuration(job.iteration_s),
                                        FormatDuration(job.solo_iteration_s), FormatSlowdown(job.slowdown));
  if (job.slowdown < kSlowdownNoticed) return fmt::format("It runs at full speed: {}.", times);
  return fmt::format("It is slowed down: {}. That cost {} GPU-hours in this run, {} per day at this rate.", times,
                     FormatShort(e.gpu_hours_lost), FormatShort(e.gpu_hours_lost_per_day));
}

std::string DescribeBound(const JobExplanation& e) {
  if (e.job.bounding_link.empty())
    return "No link bounds it: its communication hides behind compute or stays inside hosts.";
  std::string text = fmt::format("Bounding link: {}", CleanText(e.job.bounding_link));
  const auto link = std::find_if(e.links.begin(), e.links.end(),
                                 [&e](const ContendedLink& l) { return l.name == e.job.bounding_link; });
  if (link == e.links.end()) return text + ", shared with nobody who delays it.";
  if (link->capacity_bytes_per_s > 0) {
    text +=
        fmt::format(" ({}, {} used)", FormatLinkSpeed(link->capacity_bytes_per_s), FormatPercent(link->utilization));
  }
  return text + fmt::format(", shared with {}; {} lost there.", FormatCount(link->sharers.size(), "other job"),
                            FormatDuration(link->lost_s));
}

// What part of the lost time other jobs answer for; the rest has no culprit and is said so.
std::string DescribeBlame(const JobExplanation& e) {
  if (!(e.lost_s > 0) || e.job.slowdown < kSlowdownNoticed) return "";
  const double share = std::min(1.0, e.contention_s / e.lost_s);
  return fmt::format("Of {} lost, {} is blamed on other jobs below; the run names nobody for the rest.",
                     FormatDuration(e.lost_s), FormatPercent(share));
}

std::string DescribeDecision(const JobExplanation& e) {
  return fmt::format("Decision: level {}, place {} in the order of priorities. {}", e.job.level, e.job.priority_rank,
                     e.job.reason.empty() ? "The policy gave no reason." : "Reason: " + CleanText(e.job.reason));
}

std::string YieldWord(bool yielded) { return yielded ? "yields" : "shares"; }

std::string RenderLinks(const JobExplanation& e) {
  TextTable table({{"link", Align::kLeft, ""},
                   {"speed", Align::kRight, ""},
                   {"used", Align::kRight, ""},
                   {"other job", Align::kLeft, ""},
                   {"GPUs", Align::kRight, ""},
                   {"level", Align::kRight, ""},
                   {"it", Align::kLeft, ""},
                   {"together", Align::kRight, ""},
                   {"lost", Align::kRight, ""}});
  for (size_t i = 0; i < std::min(e.links.size(), kNumLinksShown); ++i) {
    const ContendedLink& link = e.links[i];
    for (const Sharer& sharer : link.sharers) {
      const bool first = &sharer == &link.sharers.front();
      const bool measured = first && link.capacity_bytes_per_s > 0;
      table.AddRow({first ? link.name : "", measured ? FormatLinkSpeed(link.capacity_bytes_per_s) : "",
                    measured ? FormatPercent(link.utilization) : "",
                    fmt::format("{} {}", sharer.id.value(), sharer.name), FormatCount(sharer.num_gpus),
                    FormatCount(sharer.level), YieldWord(sharer.yielded), FormatDuration(sharer.shared_s),
                    FormatDuration(sharer.lost_s)});
    }
  }
  if (table.empty()) return "";
  std::string text = "\nWhere it loses time, and to whom\n" + table.Render();
  if (e.links.size() > kNumLinksShown) {
    text += fmt::format("… and {} more.\n", FormatCount(e.links.size() - kNumLinksShown, "link"));
  }
  return text;
}

std::string RenderDelayed(const JobExplanation& e) {
  TextTable table({{"job", Align::kLeft, ""},
                   {"GPUs", Align::kRight, ""},
                   {"level", Align::kRight, ""},
                   {"it", Align::kLeft, ""},
                   {"lost", Align::kRight, ""},
                   {"GPU-hours", Align::kRight, ""}});
  for (size_t i = 0; i < std::min(e.delayed.size(), kNumDelayedShown); ++i) {
    const Sharer& job = e.delayed[i];
    table.AddRow({fmt::format("{} {}", job.id.value(), job.name), FormatCount(job.num_gpus), FormatCount(job.level),
                  YieldWord(job.yielded), FormatDuration(job.lost_s), FormatShort(job.lost_s * job.num_gpus / 3600)});
  }
  if (table.empty()) return "";
  std::string text = "\nWhom it delays\n" + table.Render();
  if (e.delayed.size() > kNumDelayedShown) {
    text += fmt::format("… and {} more.\n", FormatCount(e.delayed.size() - kNumDelayedShown, "job"));
  }
  return text;
}

Json SharerToJson(const Sharer& sharer) {
  return {{"job", sharer.id.value()},    {"name", sharer.name},     {"gpus", sharer.num_gpus},  {"level", sharer.level},
          {"shared_s", sharer.shared_s}, {"lost_s", sharer.lost_s}, {"yielded", sharer.yielded}};
}

Json SharersToJson(const std::vector<Sharer>& sharers) {
  Json array = Json::array();
  for (const Sharer& sharer : sharers) array.push_back(SharerToJson(sharer));
  return array;
}

}  // namespace

std::string RenderExplanation(const JobExplanation& explanation) {
  std::string text = RenderHeading(explanation);
  for (const std::string& sentence : {DescribeSpeed(explanation), DescribeBound(explanation),
                                      DescribeBlame(explanation), DescribeDecision(explanation)}) {
    if (!sentence.empty()) text += "  " + WrapText(sentence, kTextWidth - 2, 2);
  }
  return text + RenderLinks(explanation) + RenderDelayed(explanation);
}

Json ToJson(const JobExplanation& explanation) {
  const sim::JobResult& job = explanation.job;
  Json links = Json::array();
  for (const ContendedLink& link : explanation.links) {
    const bool measured = link.capacity_bytes_per_s > 0;
    links.push_back({{"id", link.id.value()},
                     {"name", link.name},
                     {"lost_s", NumberOrNull(link.lost_s)},
                     {"capacity_bytes_per_s", measured ? NumberOrNull(link.capacity_bytes_per_s) : Json(nullptr)},
                     {"utilization", measured ? NumberOrNull(link.utilization) : Json(nullptr)},
                     {"sharers", SharersToJson(link.sharers)}});
  }
  return {{"job", job.id.value()},
          {"name", job.name},
          {"policy", explanation.policy},
          {"seed", explanation.seed},
          {"partial", explanation.partial},
          {"gpus", job.num_gpus},
          {"level", job.level},
          {"priority_rank", job.priority_rank},
          {"iteration_s", NumberOrNull(job.iteration_s)},
          {"solo_iteration_s", NumberOrNull(job.solo_iteration_s)},
          {"slowdown", NumberOrNull(job.slowdown)},
          {"bounding_link", NameOrNull(job.bounding_link)},
          {"reason", job.reason},
          {"lost_s", NumberOrNull(explanation.lost_s)},
          {"contention_s", NumberOrNull(explanation.contention_s)},
          {"gpu_hours_lost", NumberOrNull(explanation.gpu_hours_lost)},
          {"gpu_hours_lost_per_day", NumberOrNull(explanation.gpu_hours_lost_per_day)},
          {"links", std::move(links)},
          {"delayed", SharersToJson(explanation.delayed)}};
}

}  // namespace fairlead::report
