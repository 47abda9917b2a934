#include "sim/elastic/gavel_speeds.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file_reader.h"

namespace fairlead::sim {
namespace {

using nlohmann::json;

struct JobKind {
  std::string model;
  uint32_t batch = 1;
  uint32_t num_gpus = 0;
};

// The number in front of `text`, which is taken away.
bool TakeNumber(std::string_view* text, uint32_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return *number > 0;
}

bool TakeText(std::string_view* text, std::string_view expected) {
  if (!text->starts_with(expected)) return false;
  text->remove_prefix(expected.size());
  return true;
}

// "('ResNet-18 (batch size 16)', 2)".
Result<JobKind> ParseKind(std::string_view key, const std::string& where) {
  constexpr std::string_view kBatch = " (batch size ";
  const Status bad = InvalidArgument(
      fmt::format("{}: expected a key like \"('ResNet-18 (batch size 16)', 2)\", found \"{}\"", where, key));
  std::string_view rest = key;
  const size_t quote = key.rfind('\'');
  if (!TakeText(&rest, "('") || quote == std::string_view::npos || quote < 2) return bad;
  JobKind kind;
  std::string_view model = key.substr(2, quote - 2);
  if (const size_t at = model.find(kBatch); at != std::string_view::npos) {
    std::string_view batch = model.substr(at + kBatch.size());
    if (!TakeNumber(&batch, &kind.batch) || batch != ")") return bad;
    model = model.substr(0, at);
  }
  kind.model = model;
  rest = key.substr(quote);
  if (model.empty() || !TakeText(&rest, "', ") || !TakeNumber(&rest, &kind.num_gpus) || rest != ")") return bad;
  return kind;
}

Result<ModelSpeeds> ReadType(const json& kinds, const std::string& where) {
  if (!kinds.is_object()) return InvalidArgument(where + ": expected an object of kinds of jobs");
  ModelSpeeds speeds;
  for (const auto& [key, entry] : kinds.items()) {
    FL_ASSIGN_OR_RETURN(const JobKind kind, ParseKind(key, where));
    const auto alone = entry.is_object() ? entry.find("null") : entry.end();
    if (!entry.is_object() || alone == entry.end() || !alone->is_number()) {
      return InvalidArgument(fmt::format("{}: {}: expected an object with a number \"null\"", where, key));
    }
    speeds[kind.model][kind.batch][kind.num_gpus] = alone->get<double>();
  }
  return speeds;
}

}  // namespace

Result<GpuTypeSpeeds> LoadGavelSpeeds(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  return ParseGavelSpeeds(text, path);
}

Result<GpuTypeSpeeds> ParseGavelSpeeds(std::string_view text, const std::string& name) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) return InvalidArgument(name + ": expected JSON; the text is not, or was cut");
  if (!root.is_object() || root.empty()) return InvalidArgument(name + ": expected an object of types of GPU");
  GpuTypeSpeeds types;
  for (const auto& [type, kinds] : root.items()) {
    FL_ASSIGN_OR_RETURN(types[type], ReadType(kinds, fmt::format("{}: {}", name, type)));
  }
  return types;
}

}  // namespace fairlead::sim
