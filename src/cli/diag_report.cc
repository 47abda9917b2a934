#include "cli/diag_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/diag_json.h"
#include "diagnosis/c4d/wording.h"
#include "report/finding_text.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"
#include "service/controller/finding_detail.h"
#include "service/steering/action_json.h"

namespace fairlead::cli {

namespace {

using model::Culprit;
using model::Finding;
using report::Json;

size_t NumHosts(const model::JobLayout& layout) {
  std::set<HostId> hosts;
  for (const model::RankPlace& place : layout.ranks) hosts.insert(place.host);
  return hosts.size();
}

double SecondsSinceBegin(SimTime time, const DiagReport& report) {
  return (time - report.analysis.begin).seconds().value();
}

// "12 s", or a dash for what has not happened.
std::string TimeText(SimTime time, const DiagReport& report) {
  if (time == SimTime::Never()) return std::string(report::kUnknown);
  return report::FormatDuration(SecondsSinceBegin(time, report));
}

std::string StateText(const Finding& finding) {
  switch (finding.state) {
    case model::FindingState::kSuspect:
      return "suspect";
    case model::FindingState::kConfirmed:
      return "confirmed";
    case model::FindingState::kCleared:
      return "cleared";
  }
  return "";
}

std::string CulpritNames(const Finding& finding, const DiagReport& report) {
  constexpr size_t kNumShown = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(finding.culprits.size(), kNumShown); ++i) {
    names.push_back(CulpritName(finding.culprits[i], report));
  }
  if (finding.culprits.size() > kNumShown) names.push_back(fmt::format("{} more", finding.culprits.size() - kNumShown));
  return names.empty() ? "nothing named" : fmt::format("{}", fmt::join(names, "; "));
}

Json TimeOrNull(SimTime time, const DiagReport& report) {
  return time == SimTime::Never() ? Json() : Json(SecondsSinceBegin(time, report));
}

Json CulpritToJson(const Culprit& culprit, const DiagReport& report) {
  return {{"kind", model::Name(culprit.kind)},
          {"rank", IdOrNull(culprit.rank)},
          {"peer", IdOrNull(culprit.peer)},
          {"host", IdOrNull(culprit.host)},
          {"host_name", culprit.host.valid() ? Json(HostName(culprit.host, report)) : Json()},
          {"nic", IdOrNull(culprit.nic)},
          {"leaf", IdOrNull(culprit.leaf)},
          {"plane", culprit.plane ? Json(*culprit.plane) : Json()}};
}

Json EvidenceToJson(const std::vector<model::Evidence>& evidence) {
  Json list = Json::array();
  for (const model::Evidence& item : evidence) {
    list.push_back({{"what", item.what},
                    {"value", report::NumberOrNull(item.value)},
                    {"baseline", report::NumberOrNull(item.baseline)},
                    {"unit", item.unit}});
  }
  return list;
}

Json FindingToJson(const Finding& finding, const DiagReport& report) {
  Json culprits = Json::array();
  for (const Culprit& culprit : finding.culprits) culprits.push_back(CulpritToJson(culprit, report));
  Json candidates = Json::array();
  for (const model::Candidate& candidate : finding.candidates) {
    candidates.push_back({{"culprit", CulpritToJson(candidate.culprit, report)},
                          {"why", candidate.why},
                          {"evidence", EvidenceToJson(candidate.evidence)}});
  }
  Json tell_apart = Json::array();
  for (const wire::NextStep& step : service::TellApart(finding, NamesOf(report))) {
    tell_apart.push_back({{"command", step.command}, {"shows", step.shows}});
  }
  Json symptoms = Json::array();
  for (const model::FindingId id : finding.symptoms) symptoms.push_back(id.value());
  Json signs = Json::array();
  for (const model::Sign sign : finding.signs) signs.push_back(model::Name(sign));
  const bool has_operation = finding.operation.has_value();
  return {{"id", finding.id.value()},
          {"syndrome", model::Name(finding.syndrome)},
          {"state", StateText(finding)},
          {"culprits", culprits},
          {"candidates", candidates},
          {"tell_apart", tell_apart},
          {"communicator", IdOrNull(finding.communicator)},
          {"operation", has_operation ? Json(diagnosis::c4d::NameOf(*finding.operation)) : Json()},
          {"sequence", has_operation ? Json(finding.sequence) : Json()},
          {"sub_cause", model::Name(finding.sub_cause)},
          {"signs", signs},
          {"evidence", EvidenceToJson(finding.evidence)},
          {"summary", finding.summary},
          {"confidence", report::NumberOrNull(finding.confidence)},
          {"score", report::NumberOrNull(finding.score)},
          {"cost_share", finding.cost_share ? Json(*finding.cost_share) : Json()},
          {"cost_gpu_hours", finding.cost_gpu_hours ? Json(*finding.cost_gpu_hours) : Json()},
          {"action", model::Name(finding.action)},
          {"first_seen_s", TimeOrNull(finding.first_seen, report)},
          {"confirmed_s", TimeOrNull(finding.confirmed, report)},
          {"cleared_s", TimeOrNull(finding.cleared, report)},
          {"symptoms", symptoms}};
}

// Who it may be, and what tells them apart; empty where it is known.
std::string CandidatesText(const Finding& finding, const DiagReport& report) {
  if (finding.candidates.empty()) return "";
  std::string text = "    One of these, and it is not known which:\n";
  for (const model::Candidate& candidate : finding.candidates) {
    std::string line = CulpritName(candidate.culprit, report) + ": " + candidate.why;
    for (const model::Evidence& item : candidate.evidence) line += "; " + report::EvidenceText(item);
    text += "      " + report::WrapText(report::CleanText(line), report::kTextWidth - 6, 8);
  }
  text += "    What tells them apart:\n";
  for (const wire::NextStep& step : service::TellApart(finding, NamesOf(report))) {
    text += fmt::format("      {}\n          {}\n", report::CleanText(step.command), step.shows);
  }
  return text;
}

report::TextTable MakeTable(const DiagReport& report) {
  report::TextTable table(
      {{"#", report::Align::kRight},
       {"syndrome", report::Align::kLeft, "", "hang or slow, in communication (comm) or outside of it (non_comm)"},
       {"state", report::Align::kLeft, "", "suspect until it has lasted long enough"},
       {"since", report::Align::kRight, "", "from the start of the recording"},
       {"confirmed", report::Align::kRight},
       {"sure", report::Align::kRight, "", "confidence, from 0 to 1: the share of such cases in which it was right"},
       {"culprit", report::Align::kLeft},
       {"do", report::Align::kLeft, "", "what is recommended"}});
  for (const Finding& finding : report.analysis.findings) {
    table.AddRow({fmt::format("{}", finding.id.value()), std::string(model::Name(finding.syndrome)), StateText(finding),
                  TimeText(finding.first_seen, report), TimeText(finding.confirmed, report),
                  fmt::format("{:.2f}", finding.confidence), CulpritNames(finding, report),
                  std::string(model::Name(finding.action))});
  }
  return table;
}

// "would isolate host 3 (worker-3)"; what only informs the diagnosis is left out.
std::string RenderSteering(const DiagReport& report) {
  std::string text = report.is_dry_run ? "\nWhat steering would do (nothing is touched):\n" : "\nWhat steering did:\n";
  for (const controller::AuditEntry& entry : *report.steering) {
    std::string line;
    if (const auto* action = std::get_if<controller::SteeringAction>(&entry.what)) {
      if (std::holds_alternative<controller::ExcuseJob>(action->step)) continue;
      const bool is_unanswered = !controller::IsAnswered(action->step);
      line = is_unanswered ? "nothing: " + action->reason : controller::Describe(action->step);
      if (action->attempt > 1) line += fmt::format(", attempt {}", action->attempt);
    } else if (const auto* done = std::get_if<controller::StepDone>(&std::get<controller::SteeringEvent>(entry.what));
               done != nullptr && !report.is_dry_run) {
      line = (done->succeeded ? "  done " : "  failed ") + done->message;
    }
    if (line.empty()) continue;
    text += report::WrapText("  " + report::CleanText(line), report::kTextWidth, 4);
  }
  return text;
}

}  // namespace

report::CulpritNames NamesOf(const DiagReport& report) {
  return {.host = [&report](HostId host) { return HostName(host, report); },
          .nic = [](NicId nic) { return fmt::format("{}", nic.value()); },
          .leaf = [](model::LeafId leaf) { return fmt::format("{}", leaf.value()); }};
}

std::string HostName(HostId host, const DiagReport& report) {
  return host.index() < report.host_names.size() ? report.host_names[host.index()]
                                                 : fmt::format("host {}", host.value());
}

std::string CulpritName(const Culprit& culprit, const DiagReport& report) {
  return report::CulpritText(culprit, NamesOf(report));
}

report::Document RenderText(const DiagReport& report) {
  const RecordingAnalysis& analysis = report.analysis;
  report::Document text = report::WrapText(
      fmt::format("{} of {} on {}, {} recorded ({}): {}.", report::FormatCount(analysis.num_rank_reports, "report"),
                  report::FormatCount(analysis.layout.ranks.size(), "rank"),
                  report::FormatCount(NumHosts(analysis.layout), "host"),
                  report::FormatDuration((analysis.end - analysis.begin).seconds().value()), report.format,
                  analysis.findings.empty() ? "no finding" : report::FormatCount(analysis.findings.size(), "finding")),
      report::kTextWidth, 2);
  for (const std::string& note : report.notes) {
    text += report::WrapText("- " + report::CleanText(note), report::kTextWidth, 2);
  }
  if (analysis.findings.empty()) return text;
  text += "\n" + report::Document(MakeTable(report));
  for (const Finding& finding : analysis.findings) {
    text += "\n" + report::WrapText(fmt::format("#{} {}", finding.id.value(), report::CleanText(finding.summary)),
                                    report::kTextWidth, 4);
    if (const std::string cost = report::CostText(finding); !cost.empty()) {
      text += "    " + report::WrapText(cost, report::kTextWidth - 4, 6);
    }
    for (const model::Evidence& evidence : finding.evidence) {
      text += "    " + report::WrapText(report::CleanText(report::EvidenceText(evidence)), report::kTextWidth - 4, 6);
    }
    text += CandidatesText(finding, report);
  }
  if (report.steering) text += RenderSteering(report);
  return text;
}

Json ToJson(const DiagReport& report) {
  const RecordingAnalysis& analysis = report.analysis;
  Json findings = Json::array();
  for (const Finding& finding : analysis.findings) findings.push_back(FindingToJson(finding, report));
  Json steering;
  if (report.steering) {
    steering = Json::array();
    for (const controller::AuditEntry& entry : *report.steering) steering.push_back(service::ToJson(entry));
  }
  return {{"files", report.files},
          {"format", report.format},
          {"job", IdOrNull(analysis.layout.job)},
          {"ranks", analysis.layout.ranks.size()},
          {"hosts", NumHosts(analysis.layout)},
          {"recorded_s", (analysis.end - analysis.begin).seconds().value()},
          {"rank_reports", analysis.num_rank_reports},
          {"host_reports", analysis.num_host_reports},
          {"notes", report.notes},
          {"findings", findings},
          {"steering", steering}};
}

}  // namespace fairlead::cli
