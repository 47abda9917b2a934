#include "trace/pod_resources.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "trace/trace.h"

namespace fairlead::trace {

namespace {

struct Suffix {
  std::string_view text;
  double factor;
};
constexpr Suffix kSuffixes[] = {{"", 1},        {"m", 1e-3},    {"k", 1e3},     {"M", 1e6},
                                {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"Ki", 1024.0},
                                {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}};

// The quantity under `key`, a text or a plain number; 0 when the key is absent.
Status ReadQuantity(const nlohmann::json& object, std::string_view key, double* value) {
  const auto found = object.find(key);
  if (found == object.end()) return OkStatus();
  const std::string text = found->is_string() ? found->get<std::string>() : found->dump();
  const std::optional<double> quantity = ParseQuantity(text);
  if (!quantity) return InvalidArgument(fmt::format("{}: expected a quantity, found '{}'", key, text.substr(0, 40)));
  *value = *quantity;
  return OkStatus();
}

}  // namespace

std::optional<double> ParseQuantity(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0) || std::isinf(number)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  for (const Suffix& suffix : kSuffixes) {
    if (text == suffix.text) return number * suffix.factor;
  }
  return std::nullopt;
}

Result<PodResources> ParsePodResources(std::string_view json) {
  // No exceptions, no comments.
  const nlohmann::json object = nlohmann::json::parse(json, nullptr, false);
  if (!object.is_object()) {
    return InvalidArgument(fmt::format("expected a JSON object, found '{}'", json.substr(0, 40)));
  }
  PodResources resources;
  double memory = 0, disk = 0, gpus = 0, rdma = 0;
  FL_RETURN_IF_ERROR(ReadQuantity(object, "cpu", &resources.cpu_cores));
  FL_RETURN_IF_ERROR(ReadQuantity(object, "memory", &memory));
  FL_RETURN_IF_ERROR(ReadQuantity(object, "ephemeral-storage", &disk));
  FL_RETURN_IF_ERROR(ReadQuantity(object, "nvidia.com/gpu", &gpus));
  FL_RETURN_IF_ERROR(ReadQuantity(object, "koordinator.sh/rdma", &rdma));
  if (gpus != std::floor(gpus) || gpus > kMaxGpusPerJob) {
    return InvalidArgument(
        fmt::format("nvidia.com/gpu: expected whole GPUs, at most {}, found {}", kMaxGpusPerJob, gpus));
  }
  resources.memory = Bytes(memory);
  resources.disk = Bytes(disk);
  resources.gpus = static_cast<uint32_t>(gpus);
  resources.rdma = rdma > 0;
  return resources;
}

}  // namespace fairlead::trace
