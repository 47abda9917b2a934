#include "report/allocation_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

using scheduling::Change;
using scheduling::DecisionRecord;
using scheduling::PendingCause;
using scheduling::Resources;

constexpr size_t kNumAheadShown = 10;
constexpr size_t kNumHistoryShown = 20;
constexpr size_t kNameWidth = 40;
constexpr const char* kPlaceMeaning = "in the order in which jobs are served, 1 first";

double SecondsOf(SimTime time) { return time.seconds().value(); }

std::string Describe(const Resources& resources) {
  std::string text = FormatCount(resources.num_gpus, "GPU");
  if (resources.num_cores > 0) text += fmt::format(" and {}", FormatCount(resources.num_cores, "core"));
  return text;
}

std::string NameOf(const AllocationExplanation& e, JobId job) {
  const bool is_known = job.index() < e.job_names.size();
  return is_known ? fmt::format("{} {}", job.value(), CleanText(e.job_names[job.index()]))
                  : fmt::to_string(job.value());
}

std::string RenderHeading(const AllocationExplanation& e) {
  const DecisionRecord& d = e.decision;
  const std::string name = ShownName(e.name, kNameWidth);
  return WrapText(fmt::format("Job {} \"{}\": asks for {}; allocation policy {}, decision at {} ({}, {})", e.job, name,
                              Describe(d.requested), CleanText(e.policy), FormatDuration(SecondsOf(d.time)),
                              scheduling::TriggerName(d.trigger), FormatCount(d.num_jobs, "job")),
                  kTextWidth, 2);
}

// The missing resource of a waiting job.
std::string DescribeLack(const DecisionRecord& d) {
  const std::string free = fmt::format("{} of {} are free", Describe(d.free), Describe(d.total));
  switch (d.reason.cause) {
    case PendingCause::kTooLarge:
      return fmt::format("Its smallest size, {}, is larger than the cluster ({}).", Describe(d.smallest),
                         Describe(d.total));
    case PendingCause::kNoCores:
      return fmt::format("Cores are missing: it wants {}, {}.", Describe(d.requested), free);
    case PendingCause::kBehind:
      return fmt::format("A job ahead of it has to start first ({}).", free);
    case PendingCause::kScattered:
      return fmt::format("{}, but no node has GPUs and cores together.", free);
    case PendingCause::kNone:
    case PendingCause::kNoGpus:
      break;
  }
  return fmt::format("GPUs are missing: it wants {}, {}.", Describe(d.requested), free);
}

std::string DescribeChange(const DecisionRecord& d) {
  switch (d.reason.change) {
    case Change::kKept:
      return fmt::format("It keeps {}.{}", Describe(d.granted),
                         d.reason.was_held ? " Another size was wanted, but is not worth a restart yet." : "");
    case Change::kStarted:
      return fmt::format("It starts on {}.", Describe(d.granted));
    case Change::kResized:
      return fmt::format("It is resized from {} to {}; the restart costs {}.", Describe(d.held), Describe(d.granted),
                         FormatDuration(d.restart_cost_s));
    case Change::kMoved:
      return fmt::format("It moves to other hosts with {}; the restart costs {}.", Describe(d.granted),
                         FormatDuration(d.restart_cost_s));
    case Change::kStopped:
      return fmt::format("It is stopped and gives {} back. {}", Describe(d.held), DescribeLack(d));
    case Change::kPending:
      break;
  }
  return "It waits. " + DescribeLack(d);
}

std::string DescribeOrder(const DecisionRecord& d) {
  const scheduling::JobReason& r = d.reason;
  std::string text = fmt::format("Place {} of {} in the order of service", r.order, d.num_jobs);
  if (r.queue > 0) text += fmt::format(", queue {}", r.queue);
  if (r.was_promoted) text += "; it goes first as it has waited long";
  text += ".";
  if (r.service_position) {
    text += fmt::format(" Ballots: {} of {} by attained service ({} resource-seconds)", *r.service_position, d.num_jobs,
                        FormatShort(d.attained_service));
    text += r.remaining_position ? fmt::format(", {} among the predictable ones by what remains; score {}.",
                                               *r.remaining_position, FormatShort(r.score))
                                 : fmt::format("; none by what remains, as its length can't be foreseen; score {}.",
                                               FormatShort(r.score));
  }
  return text;
}

std::string DescribeRemaining(const DecisionRecord& d) {
  if (!d.is_predictable) return "How long it still takes can't be foreseen yet.";
  std::string text = fmt::format("Left: {} iterations", FormatShort(d.remaining_iterations));
  if (d.iteration_s > 0) {
    text += fmt::format(" of {} each on {}: {}", FormatDuration(d.iteration_s),
                        Describe(d.granted.empty() ? d.requested : d.granted),
                        FormatDuration(d.remaining_iterations * d.iteration_s));
  }
  return text + '.';
}

std::string DescribeTime(const scheduling::TimeInterval& time) {
  return fmt::format("at {} ({} to {})", FormatDuration(SecondsOf(time.expected)), FormatDuration(SecondsOf(time.low)),
                     FormatDuration(SecondsOf(time.high)));
}

std::string DescribeExpectation(const DecisionRecord& d) {
  std::string text;
  if (d.expected_start) {
    text = fmt::format("Expected start {}, unless a job arrives that goes first.", DescribeTime(*d.expected_start));
  } else if (d.granted.empty()) {
    const auto open = std::ranges::count(d.ahead, false, &scheduling::JobAhead::is_predictable);
    text = fmt::format("Its start can't be foreseen: {} ahead of it of which no end is known.",
                       FormatCount(static_cast<uint64_t>(open), "job"));
  }
  if (d.expected_finish) {
    text += fmt::format("{}Expected finish {}.", text.empty() ? "" : " ", DescribeTime(*d.expected_finish));
  }
  return text;
}

Document RenderOperations(const DecisionRecord& d) {
  TextTable table(
      {{"unit operation", Align::kLeft, "", "one server, worker, core or GPU more or less"},
       {"saves, resource-seconds", Align::kRight, "", "of the service that the job still needs; negative: it costs"},
       {"", Align::kLeft}});
  for (const scheduling::OperationGain& gain : d.gains) {
    const bool is_applied = d.reason.applied == gain.operation;
    table.AddRow({std::string(scheduling::UnitOperationName(gain.operation)), FormatSigned(gain.gain, 0),
                  is_applied ? "applied" : ""});
  }
  if (table.empty()) return "";
  const char* heading = d.weighs_operations ? "\nUnit operations that were weighed\n"
                                            : "\nUnit operations (this policy chooses sizes without them)\n";
  return heading + Document(std::move(table));
}

Document RenderAhead(const AllocationExplanation& e) {
  TextTable table({{"place", Align::kRight, "", kPlaceMeaning},
                   {"job", Align::kLeft},
                   {"GPUs", Align::kRight},
                   {"its end", Align::kLeft, "", "whether the policy can foresee when the job ends"}});
  const auto& ahead = e.decision.ahead;
  for (size_t i = 0; i < std::min(ahead.size(), kNumAheadShown); ++i) {
    table.AddRow({FormatCount(ahead[i].order), NameOf(e, ahead[i].id), FormatCount(ahead[i].resources.num_gpus),
                  ahead[i].is_predictable ? "can be foreseen" : "unknown"});
  }
  if (table.empty()) return "";
  Document text = "\nAhead of it, and running\n" + Document(std::move(table));
  if (ahead.size() > kNumAheadShown) {
    text += fmt::format("… and {} more.\n", FormatCount(ahead.size() - kNumAheadShown, "job"));
  }
  return text;
}

Document RenderHistory(const AllocationExplanation& e) {
  TextTable table({{"at", Align::kRight},
                   {"after", Align::kLeft, "", "what made the policy decide again"},
                   {"change", Align::kLeft},
                   {"GPUs", Align::kRight},
                   {"place", Align::kRight, "", kPlaceMeaning},
                   {"why not", Align::kLeft, "", "what kept it waiting"}});
  for (size_t i = 0; i < std::min(e.history.size(), kNumHistoryShown); ++i) {
    const DecisionRecord& d = e.history[i];
    table.AddRow({FormatDuration(SecondsOf(d.time)), std::string(scheduling::TriggerName(d.trigger)),
                  std::string(scheduling::ChangeName(d.reason.change)), FormatCount(d.granted.num_gpus),
                  fmt::format("{} of {}", d.reason.order, d.num_jobs),
                  d.granted.empty() ? std::string(scheduling::PendingCauseName(d.reason.cause)) : ""});
  }
  Document text = "\nWhat was decided about it\n" + Document(std::move(table));
  if (e.history.size() > kNumHistoryShown) {
    text += fmt::format("… and {} more.\n", FormatCount(e.history.size() - kNumHistoryShown, "change"));
  }
  return text;
}

Json IntervalToJson(const std::optional<scheduling::TimeInterval>& time) {
  if (!time) return nullptr;
  return {{"s", SecondsOf(time->expected)}, {"low_s", SecondsOf(time->low)}, {"high_s", SecondsOf(time->high)}};
}

Json ResourcesToJson(const Resources& resources) {
  return {{"gpus", resources.num_gpus}, {"cores", resources.num_cores}};
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json HistoryToJson(const std::vector<DecisionRecord>& history) {
  Json array = Json::array();
  for (const DecisionRecord& d : history) {
    array.push_back({{"time_s", SecondsOf(d.time)},
                     {"trigger", scheduling::TriggerName(d.trigger)},
                     {"change", scheduling::ChangeName(d.reason.change)},
                     {"cause", scheduling::PendingCauseName(d.reason.cause)},
                     {"granted", ResourcesToJson(d.granted)},
                     {"order", d.reason.order},
                     {"jobs", d.num_jobs}});
  }
  return array;
}

}  // namespace

Result<AllocationExplanation> ExplainAllocation(std::span<const DecisionRecord> records, std::optional<double> at_s) {
  if (records.empty())
    return NotFound("no allocation decision was made about this job; it never came, or was rejected");
  const DecisionRecord* chosen = &records.front();
  for (const DecisionRecord& record : records) {
    if (at_s && SecondsOf(record.time) <= *at_s) chosen = &record;
  }
  if (at_s && SecondsOf(chosen->time) > *at_s) {
    return NotFound(fmt::format(
        "no decision about this job at {:.6g} s or before; the first one is at {:.6g} s, the last at {:.6g} s", *at_s,
        SecondsOf(records.front().time), SecondsOf(records.back().time)));
  }
  AllocationExplanation explanation;
  explanation.decision = *chosen;
  for (const DecisionRecord& record : records) {
    const bool is_new = explanation.history.empty() || explanation.history.back().reason.cause != record.reason.cause;
    const bool goes_on = record.reason.change == Change::kKept || record.reason.change == Change::kPending;
    if (!goes_on || is_new) explanation.history.push_back(record);
  }
  return explanation;
}

Document RenderExplanation(const AllocationExplanation& explanation) {
  const DecisionRecord& d = explanation.decision;
  Document text = RenderHeading(explanation);
  for (const std::string& sentence :
       {DescribeChange(d), DescribeOrder(d), DescribeRemaining(d), DescribeExpectation(d)}) {
    if (!sentence.empty()) text += "  " + WrapText(sentence, kTextWidth - 2, 2);
  }
  return text + RenderOperations(d) + RenderAhead(explanation) + RenderHistory(explanation);
}

Json ToJson(const AllocationExplanation& explanation) {
  const DecisionRecord& d = explanation.decision;
  Json operations = Json::array();
  for (const scheduling::OperationGain& gain : d.gains) {
    operations.push_back({{"operation", scheduling::UnitOperationName(gain.operation)},
                          {"gain", NumberOrNull(gain.gain)},
                          {"applied", d.reason.applied == gain.operation}});
  }
  Json ahead = Json::array();
  for (const scheduling::JobAhead& job : d.ahead) {
    const bool is_known = job.id.index() < explanation.job_names.size();
    ahead.push_back({{"job", job.id.value()},
                     {"name", is_known ? explanation.job_names[job.id.index()] : ""},
                     {"order", job.order},
                     {"resources", ResourcesToJson(job.resources)},
                     {"predictable", job.is_predictable}});
  }
  return {{"job", explanation.job},
          {"name", explanation.name},
          {"policy", explanation.policy},
          {"time_s", SecondsOf(d.time)},
          {"trigger", scheduling::TriggerName(d.trigger)},
          {"change", scheduling::ChangeName(d.reason.change)},
          {"cause", scheduling::PendingCauseName(d.reason.cause)},
          {"held", ResourcesToJson(d.held)},
          {"granted", ResourcesToJson(d.granted)},
          {"requested", ResourcesToJson(d.requested)},
          {"free", ResourcesToJson(d.free)},
          {"total", ResourcesToJson(d.total)},
          {"order", d.reason.order},
          {"jobs", d.num_jobs},
          {"ballots",
           {{"attained_service", OrNull(d.reason.service_position)},
            {"remaining", OrNull(d.reason.remaining_position)},
            {"score", NumberOrNull(d.reason.score)},
            {"queue", d.reason.queue}}},
          {"promoted", d.reason.was_promoted},
          {"held_back", d.reason.was_held},
          {"predictable", d.is_predictable},
          {"remaining_iterations", d.is_predictable ? NumberOrNull(d.remaining_iterations) : Json(nullptr)},
          {"iteration_s", d.iteration_s > 0 ? NumberOrNull(d.iteration_s) : Json(nullptr)},
          {"attained_service", NumberOrNull(d.attained_service)},
          {"restart_cost_s", NumberOrNull(d.restart_cost_s)},
          {"operations_weighed", d.weighs_operations},
          {"operations", std::move(operations)},
          {"expected_start", IntervalToJson(d.expected_start)},
          {"expected_finish", IntervalToJson(d.expected_finish)},
          {"ahead", std::move(ahead)},
          {"history", HistoryToJson(explanation.history)}};
}

}  // namespace fairlead::report
