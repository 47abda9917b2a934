#include "telemetry/kernel_message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace fairlead::telemetry {

namespace {

using model::HostSymptom;

constexpr std::string_view kXid = "NVRM: Xid (";
constexpr size_t kMessageBytesMax = 1024;  // longer ones than printk's are cut
constexpr uint32_t kFacilityShift = 3;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Digits at the beginning; nothing: there are none.
std::optional<uint32_t> Number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool IsHex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

// "0000:3b:00" of the first address in the text, which may have a function; empty: there is none.
std::string PciAddress(std::string_view text) {
  for (size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    if (colon < 4 || colon + 6 > text.size()) continue;
    const std::string_view address = text.substr(colon - 4, 10);
    const bool is_address =
        IsHex(address.substr(0, 4)) && IsHex(address.substr(5, 2)) && address[7] == ':' && IsHex(address.substr(8, 2));
    if (!is_address) continue;
    std::string lower(address);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c; });
    return lower;
  }
  return {};
}

std::optional<HostSymptom> SymptomOfXid(uint32_t xid, std::string_view text) {
  switch (xid) {
    case 48:   // double-bit error
    case 64:   // memory could not be remapped
    case 95:   // uncontained error
    case 140:  // unrecovered error
      return HostSymptom::kGpuMemoryError;
    case 79:  // fallen off the bus
      return HostSymptom::kGpuLost;
    case 61:  // micro-controller
    case 62:
    case 109:  // context switch
    case 119:  // GSP
    case 120:
    case 143:
    case 158:
      return HostSymptom::kGpuError;
    case 74:
      return HostSymptom::kNvlinkError;
    default:
      break;
  }
  const bool is_nvlink_5 = xid >= 144 && xid <= 150;
  if (is_nvlink_5 && Has(text, "Fatal")) return HostSymptom::kNvlinkError;
  return std::nullopt;
}

std::optional<KernelSymptom> ReadXid(std::string_view message) {
  const size_t begin = message.find(kXid);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = message.substr(begin + kXid.size());
  const size_t end = rest.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const auto xid = Number(rest.substr(end + 3));
  if (!xid.has_value()) return std::nullopt;
  const auto symptom = SymptomOfXid(*xid, rest);
  if (!symptom.has_value()) return std::nullopt;
  return KernelSymptom{*symptom, PciAddress(rest.substr(0, end))};
}

// "mlx5_core 0000:5e:00.0 eth2: Link down": "eth2"; empty: it has no name yet.
std::string InterfaceBefore(std::string_view message, std::string_view what) {
  const size_t end = message.find(what);
  if (end == std::string_view::npos || end == 0) return {};
  const size_t begin = message.rfind(' ', end - 1);
  const std::string_view name = message.substr(begin == std::string_view::npos ? 0 : begin + 1, end - begin - 1);
  return Has(name, ":") ? std::string() : std::string(name);
}

std::optional<KernelSymptom> ReadNic(std::string_view message) {
  if (Has(message, ": Link down") || Has(message, ": NIC Link is Down")) {
    const std::string name =
        InterfaceBefore(message, Has(message, ": Link down") ? ": Link down" : ": NIC Link is Down");
    return KernelSymptom{HostSymptom::kLinkDown, name.empty() ? PciAddress(message) : name};
  }
  constexpr std::string_view kWatchdog = "NETDEV WATCHDOG: ";
  if (const size_t begin = message.find(kWatchdog); begin != std::string_view::npos) {
    const std::string_view rest = message.substr(begin + kWatchdog.size());
    return KernelSymptom{HostSymptom::kNicErrors, std::string(rest.substr(0, rest.find_first_of(" :(")))};
  }
  constexpr std::array kMlx5 = {"Health issue observed", "device's health compromised",
                                "Will cause a leak of a command resource",
                                "Detected insufficient power on the PCIe slot", "High Temperature"};
  const bool is_sick =
      Has(message, "mlx5_core") && std::ranges::any_of(kMlx5, [&](const char* words) { return Has(message, words); });
  if (is_sick) return KernelSymptom{HostSymptom::kNicErrors, PciAddress(message)};
  return std::nullopt;
}

std::optional<KernelSymptom> ReadHost(std::string_view message) {
  if (Has(message, "GPU has fallen off the bus")) return KernelSymptom{HostSymptom::kGpuLost, PciAddress(message)};
  if (Has(message, "PCIe Bus Error: severity=Uncorrect")) {
    return KernelSymptom{HostSymptom::kPcieError, PciAddress(message)};
  }
  const bool is_killed = Has(message, "ut of memory: Killed process ") || Has(message, "oom-kill:constraint=");
  if (is_killed) return KernelSymptom{HostSymptom::kOutOfMemory, {}};
  const bool is_stalled = Has(message, "blocked for more than ") || Has(message, "soft lockup - CPU#") ||
                          (Has(message, "nvme") && Has(message, "timeout, reset controller")) ||
                          (Has(message, "nfs: server ") && Has(message, " not responding"));
  if (is_stalled) return KernelSymptom{HostSymptom::kStalled, {}};
  return std::nullopt;
}

}  // namespace

std::optional<KernelSymptom> ReadKernelMessage(std::string_view message) {
  message = message.substr(0, kMessageBytesMax);
  if (auto symptom = ReadXid(message)) return symptom;
  if (auto symptom = ReadNic(message)) return symptom;
  return ReadHost(message);
}

std::optional<std::string_view> ReadKernelRecord(std::string_view record) {
  const auto priority = Number(record);
  const size_t begin = record.find(';');
  if (!priority.has_value() || (*priority >> kFacilityShift) != 0 || begin == std::string_view::npos)
    return std::nullopt;
  const std::string_view text = record.substr(begin + 1);
  return text.substr(0, text.find('\n'));
}

}  // namespace fairlead::telemetry
