#include "lab/findings_page.h"

#include <fmt/format.h>
#include <httplib.h>

#include <nlohmann/json.hpp>

namespace fairlead::lab {

namespace {

constexpr int kPatienceSeconds = 5;

std::string Text(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> Number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::vector<std::string> Texts(const nlohmann::json& json, const char* key) {
  std::vector<std::string> texts;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return texts;
  for (const nlohmann::json& item : *found) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<uint32_t> Ranks(const nlohmann::json& json) {
  std::vector<uint32_t> ranks;
  const auto found = json.find("ranks");
  if (found == json.end() || !found->is_array()) return ranks;
  for (const nlohmann::json& item : *found) {
    if (item.is_number_unsigned()) ranks.push_back(item.get<uint32_t>());
  }
  return ranks;
}

}  // namespace

Result<std::vector<PublishedFinding>> ParseFindings(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("findings") || !json["findings"].is_array()) {
    return Unavailable("the controller's list of findings can't be read; is it of another version?");
  }
  std::vector<PublishedFinding> findings;
  for (const nlohmann::json& item : json["findings"]) {
    if (!item.is_object()) continue;
    findings.push_back({.job = Text(item, "job"),
                        .id = static_cast<uint64_t>(Number(item, "id").value_or(0)),
                        .syndrome = Text(item, "syndrome"),
                        .culprits = Texts(item, "culprits"),
                        .hosts = Texts(item, "hosts"),
                        .ranks = Ranks(item),
                        .confirmed_at_s = Number(item, "confirmed_at_s"),
                        .cleared_at_s = Number(item, "cleared_at_s"),
                        .confidence = Number(item, "confidence").value_or(0),
                        .action = Text(item, "action"),
                        .text = Text(item, "text")});
  }
  return findings;
}

Result<std::vector<PublishedFinding>> GetFindings(const std::string& page) {
  httplib::Client client("http://" + page);
  client.set_connection_timeout(kPatienceSeconds);
  client.set_read_timeout(kPatienceSeconds);
  const auto answer = client.Get("/v1/findings");
  if (!answer) {
    return Unavailable(fmt::format("http://{}/v1/findings: {}", page, httplib::to_string(answer.error())));
  }
  if (answer->status != 200) {
    return Unavailable(fmt::format("http://{}/v1/findings: answered with status {}", page, answer->status));
  }
  return ParseFindings(answer->body);
}

}  // namespace fairlead::lab
