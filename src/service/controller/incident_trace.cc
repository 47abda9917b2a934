#include "service/controller/incident_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/printable_text.h"
#include "version.h"

namespace fairlead::service {

namespace {

using report::Json;

// Numbers of the protocol; never renumber.
constexpr int kInternalSpan = 1;
constexpr int kStatusOk = 1;
constexpr int kStatusError = 2;

// FNV-1a, with another start for each of several hashes of one text. Never 0, which is no id.
uint64_t HashOf(std::string_view text, uint64_t salt) {
  uint64_t hash = 0xcbf29ce484222325ULL ^ (salt * 0x9e3779b97f4a7c15ULL);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 29;
  return hash == 0 ? 1 : hash;
}

std::string Nanoseconds(double at_s) {
  // Seconds apart from their fraction: a double holds nanoseconds since 1970 to a quarter of a microsecond only.
  const double whole = std::floor(std::max(0.0, at_s));
  const auto rest = std::llround((std::max(0.0, at_s) - whole) * 1e6) * 1000;
  return fmt::format("{}", static_cast<int64_t>(whole) * 1'000'000'000 + rest);
}

Json TextAttribute(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", report::CleanText(value)}}}};
}

Json NumberAttribute(const char* key, double value) { return {{"key", key}, {"value", {{"doubleValue", value}}}}; }

// 64-bit integers are text in JSON.
Json CountAttribute(const char* key, uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", fmt::format("{}", value)}}}};
}

std::string TextOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> NumberOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string IncidentKey(const wire::LiveFinding& finding) {
  return fmt::format("{} {} {}", finding.job, finding.id, Nanoseconds(finding.confirmed_at_s.value_or(0)));
}

std::string TraceIdOf(const std::string& key) { return fmt::format("{:016x}{:016x}", HashOf(key, 1), HashOf(key, 2)); }

class IncidentTraceMaker {
 public:
  IncidentTraceMaker(const wire::FindingDetail& detail, const Json& log, double now_s)
      : detail_(detail), finding_(detail.finding), log_(log), now_s_(now_s) {}
  Json Make();

 private:
  struct Span {
    std::string name;
    double begin_s = 0;
    double end_s = 0;
    Json attributes = Json::array();
    Json events = Json::array();
    int status = 0;  // unset
    std::string message = {};
  };

  void AddSuspicion();
  void AddActions();
  void AddAction(const Json& line);
  void AddReturn();
  Json ToJson(const Span& span, size_t number) const;
  std::string SpanId(size_t number) const { return fmt::format("{:016x}", HashOf(key_, 3 + number)); }
  // What became of an action; null: not known yet.
  const Json* OutcomeOf(double action) const;

  const wire::FindingDetail& detail_;
  const wire::LiveFinding& finding_;
  const Json& log_;
  const double now_s_;
  std::string key_;
  std::string trace_id_;
  std::vector<Span> spans_;  // the incident first
  std::optional<double> restarted_s_;
  std::optional<double> job_;  // its number in the log
};

void IncidentTraceMaker::AddSuspicion() {
  const double begin_s = finding_.suspected_at_s.value_or(finding_.confirmed_at_s.value_or(now_s_));
  const double confirmed_s = finding_.confirmed_at_s.value_or(now_s_);
  Span incident{
      .name = "incident", .begin_s = begin_s, .end_s = std::max(begin_s, finding_.cleared_at_s.value_or(now_s_))};
  incident.attributes =
      Json::array({CountAttribute("fairlead.finding", finding_.id), TextAttribute("fairlead.job", finding_.job),
                   TextAttribute("fairlead.syndrome", finding_.syndrome), TextAttribute("fairlead.text", finding_.text),
                   TextAttribute("fairlead.culprits", fmt::format("{}", fmt::join(finding_.culprits, ", "))),
                   TextAttribute("fairlead.hosts", fmt::format("{}", fmt::join(finding_.hosts, ", "))),
                   TextAttribute("fairlead.advice", finding_.action)});
  if (finding_.confidence) incident.attributes.push_back(NumberAttribute("fairlead.confidence", *finding_.confidence));
  if (finding_.confirmed_at_s) {
    incident.events.push_back({{"timeUnixNano", Nanoseconds(*finding_.confirmed_at_s)}, {"name", "confirmed"}});
  }
  if (finding_.cleared_at_s) {
    incident.events.push_back({{"timeUnixNano", Nanoseconds(*finding_.cleared_at_s)}, {"name", "cleared"}});
  }
  incident.attributes.push_back(TextAttribute("fairlead.state", finding_.cleared_at_s ? "over" : "holds"));
  incident.status = kStatusError;
  incident.message = finding_.text;
  spans_.push_back(std::move(incident));
  spans_.push_back({.name = "suspect", .begin_s = begin_s, .end_s = std::max(begin_s, confirmed_s)});
}

const Json* IncidentTraceMaker::OutcomeOf(double action) const {
  const Json* last = nullptr;
  for (const Json& line : log_) {
    if (TextOf(line, "outcome") == "attempt" && NumberOf(line, "action") == action) last = &line;
  }
  return last;
}

// All attempts of an action are one span.
void IncidentTraceMaker::AddAction(const Json& line) {
  const double action = NumberOf(line, "action").value_or(0);
  const double attempt = NumberOf(line, "attempt").value_or(1);
  if (attempt > 1 && std::ranges::any_of(spans_, [&](Span& span) {
        const bool is_same = !span.attributes.empty() &&
                             span.attributes[0] == CountAttribute("fairlead.action", static_cast<uint64_t>(action));
        if (is_same) {
          span.events.push_back(
              {{"timeUnixNano", Nanoseconds(NumberOf(line, "at_s").value_or(span.begin_s))},
               {"name", "attempt"},
               {"attributes", Json::array({CountAttribute("fairlead.attempt", static_cast<uint64_t>(attempt))})}});
        }
        return is_same;
      })) {
    return;
  }
  Span span{.name = TextOf(line, "step"), .begin_s = NumberOf(line, "at_s").value_or(now_s_)};
  std::ranges::replace(span.name, '_', ' ');
  span.end_s = span.begin_s;
  span.attributes = Json::array({CountAttribute("fairlead.action", static_cast<uint64_t>(action)),
                                 TextAttribute("fairlead.description", TextOf(line, "description")),
                                 TextAttribute("fairlead.reason", TextOf(line, "reason"))});
  if (const std::string host = TextOf(line, "host_name"); !host.empty()) {
    span.attributes.push_back(TextAttribute("host.name", host));
  }
  if (const Json* outcome = OutcomeOf(action); outcome != nullptr) {
    span.end_s = std::max(span.begin_s, NumberOf(*outcome, "at_s").value_or(span.begin_s));
    const bool has_succeeded = outcome->value("succeeded", false);
    span.status = has_succeeded ? kStatusOk : kStatusError;
    span.message = has_succeeded ? "" : TextOf(*outcome, "message");
    if (TextOf(line, "step") == "restart_job" && has_succeeded) restarted_s_ = span.end_s;
  }
  spans_.push_back(std::move(span));
}

void IncidentTraceMaker::AddActions() {
  for (const Json& line : log_) {
    if (TextOf(line, "kind") != "action" || NumberOf(line, "finding") != static_cast<double>(finding_.id)) continue;
    if (const auto job = NumberOf(line, "job")) job_ = job;
    AddAction(line);
  }
}

// When the job ran after its restart, and when its first iterations were known.
void IncidentTraceMaker::AddReturn() {
  if (!restarted_s_) return;
  for (const Json& line : log_) {
    const auto at_s = NumberOf(line, "at_s");
    if (TextOf(line, "outcome") != "job_running" || !job_ || NumberOf(line, "job") != job_ || !at_s ||
        *at_s < *restarted_s_)
      continue;
    spans_.push_back({.name = "run again", .begin_s = *restarted_s_, .end_s = *at_s});
    break;
  }
  const auto block =
      std::ranges::find_if(detail_.blocks, [&](const wire::LiveBlock& one) { return one.at_s > *restarted_s_; });
  if (block == detail_.blocks.end()) return;
  Span first{.name = "first iteration",
             .begin_s = std::max(*restarted_s_, block->at_s - block->seconds),
             .end_s = block->at_s};
  first.attributes = Json::array({NumberAttribute("fairlead.block_seconds", block->seconds)});
  spans_.push_back(std::move(first));
}

Json IncidentTraceMaker::ToJson(const Span& span, size_t number) const {
  Json json = {{"traceId", trace_id_}, {"spanId", SpanId(number)}};
  if (number > 0) json["parentSpanId"] = SpanId(0);
  json["name"] = span.name;
  json["kind"] = kInternalSpan;
  json["startTimeUnixNano"] = Nanoseconds(span.begin_s);
  json["endTimeUnixNano"] = Nanoseconds(span.end_s);
  json["attributes"] = span.attributes;
  if (!span.events.empty()) json["events"] = span.events;
  json["status"] = Json::object();
  if (span.status != 0) json["status"]["code"] = span.status;
  if (!span.message.empty()) json["status"]["message"] = report::CleanText(span.message);
  return json;
}

Json IncidentTraceMaker::Make() {
  key_ = IncidentKey(finding_);
  trace_id_ = TraceIdOf(key_);
  AddSuspicion();
  AddActions();
  AddReturn();
  for (const Span& span : spans_) spans_.front().end_s = std::max(spans_.front().end_s, span.end_s);
  Json spans = Json::array();
  for (size_t i = 0; i < spans_.size(); ++i) spans.push_back(ToJson(spans_[i], i));
  const Json resource = {{"attributes", Json::array({TextAttribute("service.name", "fairlead"),
                                                     TextAttribute("service.version", std::string(kVersion))})}};
  const Json scope = {{"name", "fairlead.incident"}, {"version", std::string(kVersion)}};
  return {{"resourceSpans",
           Json::array({{{"resource", resource},
                         {"scopeSpans", Json::array({{{"scope", scope}, {"spans", std::move(spans)}}})}}})}};
}

}  // namespace

Json IncidentTrace(const wire::FindingDetail& detail, const Json& log, double now_s) {
  const Json none = Json::array();
  return IncidentTraceMaker(detail, log.is_array() ? log : none, now_s).Make();
}

std::string IncidentTraceId(const wire::FindingDetail& detail) { return TraceIdOf(IncidentKey(detail.finding)); }

}  // namespace fairlead::service
