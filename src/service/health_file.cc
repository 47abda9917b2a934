#include "service/health_file.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file_reader.h"
#include "report/printable_text.h"

namespace fairlead::service {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLineMax = 80;  // node-problem-detector's default of what it shows
constexpr size_t kFileBytesMax = 1 << 20;

Status NoHealth(const char* why) { return InvalidArgument(fmt::format("no health file: {}", why)); }

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

HealthVerdict Say(HealthVerdict::Kind kind, const std::string& text) {
  return {kind, report::TruncateToWidth(report::CleanText(text), kLineMax)};
}

}  // namespace

std::string WriteHealth(const HostHealth& health) {
  Json findings = Json::array();
  for (const HealthFinding& finding : health.findings) {
    findings.push_back(
        {{"job", finding.job}, {"syndrome", finding.syndrome}, {"text", finding.text}, {"action", finding.action}});
  }
  const Json json = {
      {"fairlead_health", 1}, {"host", health.host}, {"at_s", health.at_s}, {"findings", std::move(findings)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<HostHealth> ReadHealth(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return NoHealth("not a JSON object");
  const auto version = json.find("fairlead_health");
  if (version == json.end() || *version != 1) return NoHealth("expected \"fairlead_health\": 1");
  const auto at = json.find("at_s");
  const auto findings = json.find("findings");
  if (at == json.end() || !at->is_number_integer() || at->get<int64_t>() < 0) return NoHealth("no time in \"at_s\"");
  if (findings == json.end() || !findings->is_array()) return NoHealth("no list \"findings\"");
  HostHealth health;
  health.host = TextOf(json, "host");
  health.at_s = at->get<int64_t>();
  for (const Json& finding : *findings) {
    if (!finding.is_object()) return NoHealth("a finding is not an object");
    health.findings.push_back(
        {TextOf(finding, "job"), TextOf(finding, "syndrome"), TextOf(finding, "text"), TextOf(finding, "action")});
  }
  return health;
}

void HealthKeeper::Judge(std::vector<HealthFinding> findings) {
  is_changed_ = is_changed_ || !is_known_ || findings != findings_;
  is_known_ = true;
  findings_ = std::move(findings);
}

std::optional<HostHealth> HealthKeeper::TakeDue(SimTime now, int64_t unix_s) {
  if (!is_known_ || (!is_changed_ && now < next_)) return std::nullopt;
  is_changed_ = false;
  next_ = now + kHealthPeriod;
  return HostHealth{host_, unix_s, findings_};
}

HealthVerdict CheckHealth(const HealthCheckOptions& options, int64_t now_s) {
  using Kind = HealthVerdict::Kind;
  const Result<std::string> text = ReadWholeFile(options.path, kFileBytesMax);
  if (!text.ok()) return Say(Kind::kUnknown, "unknown: " + text.status().message());
  const auto health = ReadHealth(*text);
  if (!health.ok()) return Say(Kind::kUnknown, "unknown: " + health.status().message());
  const int64_t age_s = now_s - health->at_s;
  if (age_s > options.max_age_s) {
    return Say(Kind::kUnknown, fmt::format("unknown: last report {} s ago; is the agent connected?", age_s));
  }
  if (age_s < -options.max_age_s)
    return Say(Kind::kUnknown, "unknown: the last report is in the future; check the clocks");
  const HealthFinding* first = nullptr;
  size_t count = 0;
  for (const HealthFinding& finding : health->findings) {
    if (!options.action.empty() && finding.action != options.action) continue;
    if (count++ == 0) first = &finding;
  }
  if (first == nullptr) return Say(Kind::kWell, "nothing is found about this host");
  const std::string more = count > 1 ? fmt::format(" (+{})", count - 1) : "";
  return Say(Kind::kProblem, fmt::format("{}{}: job {}: {}", first->syndrome, more, first->job, first->text));
}

}  // namespace fairlead::service
