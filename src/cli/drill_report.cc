#include "cli/drill_report.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cli/diag_json.h"
#include "execution/fault.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using report::Json;
using sim::DrillRun;
using sim::FaultStory;

// "10 min", or a dash for what has not happened.
std::string TimeText(SimTime time) {
  return time == SimTime::Never() ? std::string(report::kUnknown) : report::FormatDuration(SecondsOf(time));
}

// "+12 s": since another time.
std::string SinceText(SimTime time, SimTime since) {
  if (time == SimTime::Never() || since == SimTime::Never()) return std::string(report::kUnknown);
  return "+" + report::FormatDuration((time - since).seconds().value());
}

std::string HostText(HostId host) {
  return host.valid() ? fmt::format("{}", host.value()) : std::string(report::kUnknown);
}

void AddRows(const DrillReport& report, const DrillRun& run, const char* who, report::TextTable* table) {
  for (const FaultStory& story : run.stories) {
    table->AddRow({std::string(Name(report.options.faults[story.fault].kind)), HostText(story.host), who,
                   TimeText(story.acted), SinceText(story.symptom, story.acted),
                   SinceText(story.suspected, story.acted), SinceText(story.confirmed, story.acted),
                   SinceText(story.action, story.acted), SinceText(story.restarted, story.acted),
                   report::FormatCount(story.num_lost)});
  }
}

report::TextTable MakeFaultTable(const DrillReport& report) {
  using report::Align;
  report::TextTable table({{"fault", Align::kLeft},
                           {"host", Align::kRight},
                           {"who", Align::kLeft, "", "C4D: Fairlead's diagnosis; people: without it"},
                           {"acts", Align::kRight, "", "when the fault begins; the times behind it count from then"},
                           {"symptom", Align::kRight, "", "the job slows down or stops"},
                           {"suspected", Align::kRight},
                           {"confirmed", Align::kRight},
                           {"action", Align::kRight},
                           {"restarted", Align::kRight},
                           {"lost", Align::kRight, "", "iterations since the checkpoint"}});
  AddRows(report, report.with_diagnosis, "C4D", &table);
  if (report.people) AddRows(report, *report.people, "people", &table);
  return table;
}

void AddTotal(const DrillReport& report, const DrillRun& run, const char* who, report::TextTable* table) {
  table->AddRow({who, report::FormatCount(run.num_iterations), report::FormatCount(run.num_lost),
                 report::FormatDuration(run.lost_s), report::FormatPercent(run.lost_s / SecondsOf(report.options.end)),
                 std::string(Describe(run.condition))});
}

report::TextTable MakeTotalTable(const DrillReport& report) {
  using report::Align;
  report::TextTable table({{"", Align::kLeft},
                           {"iterations", Align::kRight},
                           {"lost", Align::kRight, "", "iterations since the checkpoint"},
                           {"without progress", Align::kRight, "", "standing, restarting or repeating lost iterations"},
                           {"of the time", Align::kRight, "", "share of the simulated time"},
                           {"the job at the end", Align::kLeft}});
  AddTotal(report, report.with_diagnosis, "with C4D", &table);
  if (report.people) AddTotal(report, *report.people, "people alone", &table);
  return table;
}

// Args: title: who handles the faults.
std::string RenderEvents(const DrillRun& run, std::string_view title) {
  if (run.events.empty()) return "";
  std::string text = fmt::format("\n{}:\n", title);
  for (const sim::DrillEvent& event : run.events) {
    const std::string head = fmt::format("{:>9.1f} s  {:<9}  ", SecondsOf(event.at), Name(event.kind));
    // Further lines are aligned under the text.
    std::string lines = report::WrapText(report::CleanText(event.text), report::kTextWidth - head.size(), 0);
    lines.pop_back();
    for (size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1)) {
      lines.insert(end + 1, head.size(), ' ');
    }
    text += head + lines + "\n";
  }
  return text;
}

Json TimeOrNull(SimTime time) { return time == SimTime::Never() ? Json() : Json(SecondsOf(time)); }

Json StoryToJson(const DrillReport& report, const FaultStory& story) {
  return {{"kind", Name(report.options.faults[story.fault].kind)},
          {"host", IdOrNull(story.host)},
          {"acted_s", TimeOrNull(story.acted)},
          {"symptom_s", TimeOrNull(story.symptom)},
          {"suspected_s", TimeOrNull(story.suspected)},
          {"confirmed_s", TimeOrNull(story.confirmed)},
          {"action_s", TimeOrNull(story.action)},
          {"restarted_s", TimeOrNull(story.restarted)},
          {"finding", report::NameOrNull(story.finding)},
          {"names_host", story.names_host},
          {"iterations_lost", story.num_lost}};
}

Json RunToJson(const DrillReport& report, const DrillRun& run, bool has_diagnosis) {
  Json stories = Json::array();
  for (const FaultStory& story : run.stories) stories.push_back(StoryToJson(report, story));
  Json events = Json::array();
  for (const sim::DrillEvent& event : run.events) {
    events.push_back({{"at_s", SecondsOf(event.at)},
                      {"kind", Name(event.kind)},
                      {"text", event.text},
                      {"host", IdOrNull(event.host)}});
  }
  Json stretches = Json::array();
  for (const sim::JobStretch& stretch : run.stretches) {
    stretches.push_back(
        {{"does", Name(stretch.activity)}, {"begin_s", SecondsOf(stretch.begin)}, {"end_s", SecondsOf(stretch.end)}});
  }
  return {{"diagnosis", has_diagnosis},
          {"iterations", run.num_iterations},
          {"iterations_lost", run.num_lost},
          {"without_progress_s", run.lost_s},
          {"condition", Describe(run.condition)},
          {"faults", stories},
          {"events", events},
          {"job", stretches}};
}

}  // namespace

std::string_view Name(sim::JobActivity activity) {
  static constexpr std::array<std::string_view, 4> kNames = {"training", "repeating", "standing", "restarting"};
  return kNames.at(static_cast<size_t>(activity));
}

std::string_view Describe(controller::JobCondition condition) {
  static constexpr std::array<std::string_view, 4> kNames = {"running", "steered", "waits for a spare",
                                                             "needs an operator"};
  return kNames.at(static_cast<size_t>(condition));
}

report::Document RenderText(const DrillReport& report) {
  const execution::JobShape& shape = report.options.cluster.shape;
  report::Document text =
      report::WrapText(fmt::format("{} on {}, {}, {} simulated.", report::FormatCount(shape.NumRanks(), "rank"),
                                   report::FormatCount(shape.NumHosts(), "host"),
                                   report::FormatCount(report.options.cluster.num_spares, "spare"),
                                   report::FormatDuration(SecondsOf(report.options.end))),
                       report::kTextWidth, 2);
  if (report::TextTable faults = MakeFaultTable(report); !faults.empty()) {
    text += "\n" + report::Document(std::move(faults));
  }
  text += "\n" + report::Document(MakeTotalTable(report));
  text += RenderEvents(report.with_diagnosis, "With C4D");
  if (report.people) text += RenderEvents(*report.people, "People alone");
  if (report.options.faults.empty())
    text += "\nNo fault was injected: --fault gpu_hang@900:5 injects one, --draw 1000 draws some.\n";
  return text;
}

Json ToJson(const DrillReport& report) {
  const sim::DrillOptions& options = report.options;
  Json faults = Json::array();
  for (const execution::Fault& fault : options.faults) {
    faults.push_back({{"kind", Name(fault.kind)},
                      {"rank", IdOrNull(fault.rank)},
                      {"host", IdOrNull(fault.host)},
                      {"begin_s", SecondsOf(fault.begin)},
                      {"magnitude", fault.magnitude}});
  }
  Json runs = Json::array({RunToJson(report, report.with_diagnosis, true)});
  if (report.people) runs.push_back(RunToJson(report, *report.people, false));
  return {{"ranks", options.cluster.shape.NumRanks()},
          {"hosts", options.cluster.shape.NumHosts()},
          {"spares", options.cluster.num_spares},
          {"simulated_s", SecondsOf(options.end)},
          {"faults", faults},
          {"runs", runs}};
}

}  // namespace fairlead::cli
