#include "sim/chaos/chaos_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/yaml_reader.h"

namespace fairlead::sim::chaos {

namespace {

constexpr YamlKey kFaultKeyTable[] = {
    {.name = "at",
     .type = YamlType::kNumber,
     .unit = NumberUnit::kSeconds,
     .meaning = "When it begins.",
     .example = "12.5",
     .is_required = true,
     .min = 0,
     .max = 1e6},
    {.name = "kind", .meaning = "What breaks.", .example = "agent", .is_required = true},
    {.name = "target",
     .type = YamlType::kInteger,
     .meaning = "Number of the host, or of the cable between switches; counted round where there are fewer.",
     .example = "3",
     .fallback = "0",
     .min = 0,
     .max = std::numeric_limits<uint32_t>::max()},
    {.name = "lasts",
     .type = YamlType::kNumber,
     .unit = NumberUnit::kSeconds,
     .meaning = "For how long, where it has an end.",
     .example = "1.2",
     .fallback = "0",
     .min = 0,
     .max = 1e6},
    {.name = "amount",
     .type = YamlType::kInteger,
     .meaning = "Of clock: nanoseconds; of write: 0 = before it is saved, 1 = after.",
     .example = "1",
     .fallback = "0",
     .min = -1e17,
     .max = 1e17},
};
constexpr YamlMapKeys kFaultKeys = {.name = "fault", .meaning = "One fault.", .keys = kFaultKeyTable};

constexpr YamlKey kChaosKeyTable[] = {
    {.name = "seed",
     .type = YamlType::kInteger,
     .meaning = "Of everything but the faults.",
     .example = "42",
     .fallback = "1",
     .min = 0,
     .max = 9e18},
    {.name = "hosts",
     .type = YamlType::kInteger,
     .meaning = "Hosts, three on each leaf.",
     .example = "6",
     .fallback = "6",
     .min = 2,
     .max = 64},
    {.name = "jobs",
     .type = YamlType::kInteger,
     .meaning = "Jobs, which begin, end and are started again.",
     .example = "3",
     .fallback = "3",
     .min = 0,
     .max = 64},
    {.name = "faulty_for",
     .type = YamlType::kNumber,
     .unit = NumberUnit::kSeconds,
     .meaning = "Jobs begin and end, and faults happen, until then.",
     .example = "40",
     .fallback = "40",
     .min = 0,
     .max = 1e6},
    {.name = "calm_for",
     .type = YamlType::kNumber,
     .unit = NumberUnit::kSeconds,
     .meaning = "Nothing happens for so long before the laws of calm are checked.",
     .example = "60",
     .fallback = "60",
     .min = 30,
     .max = 1e6},
    {.name = "nic_ports",
     .type = YamlType::kInteger,
     .meaning = "Ports of each NIC, each on a plane of its own.",
     .example = "2",
     .fallback = "1",
     .min = 1,
     .max = 2},
    {.name = "faults",
     .type = YamlType::kMaps,
     .meaning = "What breaks, and when.",
     .example = "[{at: 3, kind: agent}]",
     .map = &kFaultKeys},
};
constexpr YamlMapKeys kChaosKeys = {.name = "chaos", .meaning = "A history under faults.", .keys = kChaosKeyTable};
constexpr YamlKey kRootKeyTable[] = {
    {.name = "chaos",
     .type = YamlType::kMap,
     .meaning = "A history under faults.",
     .example = "{seed: 1}",
     .is_required = true,
     .map = &kChaosKeys},
};
constexpr YamlMapKeys kRootKeys = {.name = "", .meaning = "A history under faults.", .keys = kRootKeyTable};

SimDuration ReadDuration(YamlMap* map, std::string_view key) {
  return SimDuration::FromSeconds(Seconds(map->Double(key)));
}

Result<ChaosOptions> Read(const YamlDocument& document) {
  YamlMap root = document.Root();
  root.Declare(kRootKeys);
  YamlMap chaos = root.RequiredMap("chaos");
  ChaosOptions options;
  options.seed = static_cast<uint64_t>(chaos.Int("seed"));
  options.num_hosts = static_cast<uint32_t>(chaos.Int("hosts"));
  options.num_jobs = static_cast<uint32_t>(chaos.Int("jobs"));
  options.num_nic_ports = static_cast<uint32_t>(chaos.Int("nic_ports"));
  options.faulty_for = ReadDuration(&chaos, "faulty_for");
  options.calm_for = ReadDuration(&chaos, "calm_for");
  for (YamlMap& entry : chaos.Maps("faults")) {
    Fault fault;
    fault.at = SimTime() + ReadDuration(&entry, "at");
    fault.kind = static_cast<FaultKind>(entry.RequiredChoice("kind", kFaultNames));
    fault.target = static_cast<uint32_t>(entry.Int("target"));
    fault.lasts = ReadDuration(&entry, "lasts");
    fault.amount = entry.Int("amount");
    if (!options.faults.empty() && fault.at < options.faults.back().at) {
      entry.Fail("at", "expected faults in order of time, found one before the one above it");
    }
    FL_RETURN_IF_ERROR(entry.Finish());
    options.faults.push_back(fault);
  }
  FL_RETURN_IF_ERROR(chaos.Finish());
  FL_RETURN_IF_ERROR(root.Finish());
  FL_RETURN_IF_ERROR(document.status());
  return options;
}

}  // namespace

std::string WriteChaosFile(const ChaosOptions& options) {
  std::string text = fmt::format(
      "chaos:\n  seed: {}\n  hosts: {}\n  jobs: {}\n  faulty_for: {:.9f}\n  calm_for: {:.9f}\n", options.seed,
      options.num_hosts, options.num_jobs, options.faulty_for.seconds().value(), options.calm_for.seconds().value());
  if (options.num_nic_ports != 1) text += fmt::format("  nic_ports: {}\n", options.num_nic_ports);
  if (options.faults.empty()) return text;
  text += "  faults:\n";
  for (const Fault& fault : options.faults) {
    text += fmt::format("    - {{at: {:.9f}, kind: {}, target: {}, lasts: {:.9f}", fault.at.seconds().value(),
                        Name(fault.kind), fault.target, fault.lasts.seconds().value());
    if (fault.amount != 0) text += fmt::format(", amount: {}", fault.amount);
    text += "}\n";
  }
  return text;
}

Result<ChaosOptions> LoadChaosFile(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  return Read(document);
}

Result<ChaosOptions> ParseChaosFile(std::string_view text, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, name));
  return Read(document);
}

}  // namespace fairlead::sim::chaos
