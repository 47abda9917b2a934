#include "base/unit_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace fairlead {

namespace {

struct NamedUnit {
  std::string_view name;
  double size;  // in the first unit of the table that is 1
};

constexpr NamedUnit kTimes[] = {{"s", 1},     {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6},
                                {"ms", 1e-3}, {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr NamedUnit kSizes[] = {
    {"MB", 1},   {"B", 1e-6},      {"kB", 1e-3},        {"KB", 1e-3},           {"GB", 1e3},
    {"TB", 1e6}, {"KiB", 1024e-6}, {"MiB", 1048576e-6}, {"GiB", 1073741824e-6}, {"TiB", 1099511627776e-6}};
// In Gb/s; the forms "Gbps" and "Gbit/s" are made into "Gb/s" first.
constexpr NamedUnit kBitRates[] = {{"Gb/s", 1},   {"b/s", 1e-9},  {"kb/s", 1e-6}, {"Mb/s", 1e-3}, {"Tb/s", 1e3},
                                   {"B/s", 8e-9}, {"kB/s", 8e-6}, {"MB/s", 8e-3}, {"GB/s", 8},    {"TB/s", 8e3},
                                   {"G", 1},      {"M", 1e-3},    {"T", 1e3}};
constexpr NamedUnit kByteRates[] = {{"GB/s", 1},     {"B/s", 1e-9},     {"kB/s", 1e-6},     {"MB/s", 1e-3},
                                    {"TB/s", 1e3},   {"b/s", 0.125e-9}, {"kb/s", 0.125e-6}, {"Mb/s", 0.125e-3},
                                    {"Gb/s", 0.125}, {"Tb/s", 0.125e3}};
constexpr NamedUnit kWork[] = {{"TFLOP", 1}, {"MFLOP", 1e-6}, {"GFLOP", 1e-3}, {"PFLOP", 1e3}, {"EFLOP", 1e6}};

std::span<const NamedUnit> UnitsOf(NumberUnit unit) {
  switch (unit) {
    case NumberUnit::kSeconds:
      return kTimes;
    case NumberUnit::kMegabytes:
      return kSizes;
    case NumberUnit::kGigabitsPerSecond:
      return kBitRates;
    case NumberUnit::kGigabytesPerSecond:
      return kByteRates;
    case NumberUnit::kTeraflop:
    case NumberUnit::kTeraflopPerSecond:
      return kWork;
    case NumberUnit::kNone:
    case NumberUnit::kRatio:
      return {};
  }
  return {};
}

bool IsRate(NumberUnit unit) {
  return unit == NumberUnit::kGigabitsPerSecond || unit == NumberUnit::kGigabytesPerSecond;
}

// "Gbps" and "Gbit/s" -> "Gb/s"; "GBps" -> "GB/s"; "TFLOPS" and "TFLOP/s" -> "TFLOP", of a unit per second.
std::string PlainName(std::string_view name, NumberUnit unit) {
  std::string plain(name);
  const auto replace_end = [&plain](std::string_view end, std::string_view by) {
    if (plain.size() > end.size() && plain.ends_with(end)) plain.replace(plain.size() - end.size(), end.size(), by);
  };
  if (IsRate(unit)) {
    replace_end("bit/s", "b/s");
    replace_end("ps", "/s");
  } else if (unit == NumberUnit::kTeraflopPerSecond) {
    replace_end("FLOP/s", "FLOPS");
    if (!plain.ends_with('S')) return "";  // operations, not operations per second
    plain.pop_back();
  }
  return plain;
}

// The number at the start of `text`, which keeps the rest.
std::optional<double> TakeNumber(std::string_view* text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  return value;
}

std::optional<double> Finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

}  // namespace

std::string_view UnitName(NumberUnit unit) {
  switch (unit) {
    case NumberUnit::kSeconds:
      return "seconds";
    case NumberUnit::kMegabytes:
      return "MB";
    case NumberUnit::kGigabitsPerSecond:
      return "Gb/s";
    case NumberUnit::kGigabytesPerSecond:
      return "GB/s";
    case NumberUnit::kTeraflop:
      return "TFLOP";
    case NumberUnit::kTeraflopPerSecond:
      return "TFLOP/s";
    case NumberUnit::kNone:
    case NumberUnit::kRatio:
      return "";
  }
  return "";
}

std::string_view UnitExample(NumberUnit unit) {
  switch (unit) {
    case NumberUnit::kSeconds:
      return "250ms";
    case NumberUnit::kMegabytes:
      return "16GB";
    case NumberUnit::kGigabitsPerSecond:
      return "50GB/s";
    case NumberUnit::kGigabytesPerSecond:
      return "400Gb/s";
    case NumberUnit::kTeraflop:
      return "5GFLOP";
    case NumberUnit::kTeraflopPerSecond:
      return "1PFLOPS";
    case NumberUnit::kRatio:
      return "2:1";
    case NumberUnit::kNone:
      return "";
  }
  return "";
}

std::optional<double> ParseWithUnit(std::string_view text, NumberUnit unit) {
  const auto number = TakeNumber(&text);
  if (!number) return std::nullopt;
  if (text.empty()) return number;
  if (unit == NumberUnit::kRatio) {
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
    const auto below = TakeNumber(&text);
    if (!below || !text.empty() || *below <= 0) return std::nullopt;
    return Finite(*number / *below);
  }
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string name = PlainName(text, unit);
  for (const NamedUnit& known : UnitsOf(unit)) {
    if (known.name == name) return Finite(*number * known.size);
  }
  return std::nullopt;
}

}  // namespace fairlead
