#include "slurm/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "model/job_name.h"

namespace fairlead::slurm {
namespace {

constexpr size_t kNumNumbersMax = 4096;

Status Fault(std::string_view what, std::string_view list) {
  return InvalidArgument(fmt::format("{} in the list '{}'", what, model::PrintableText(list)));
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// "08-10" -> 8, 10, and how many digits there are at least.
struct Range {
  uint32_t first = 0;
  uint32_t last = 0;
  size_t width = 0;
};

std::optional<Range> ParseRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = ParseNumber(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseNumber(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{*first, *last, std::min(dash, text.size())};
}

// Appends "prefix" + each number of "0-3,7" + each expansion of what comes behind the bracket.
Status ExpandOne(std::string_view name, std::string_view list, std::vector<std::string>* hosts) {
  std::vector<std::string> begun = {""};
  while (!name.empty()) {
    const size_t open = name.find('[');
    for (std::string& one : begun) one += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = name.find(']', open);
    if (close == std::string_view::npos) return Fault("a bracket without end", list);
    std::vector<std::string> longer;
    for (const std::string& one : begun) {
      for (const std::string_view part : SplitList(name.substr(open + 1, close - open - 1))) {
        const auto range = ParseRange(part);
        if (!range.has_value()) return Fault("no range of numbers", list);
        if (range->last - range->first >= kNumHostsMax - std::min(kNumHostsMax, longer.size())) {
          return Fault(fmt::format("over {} hosts", kNumHostsMax), list);
        }
        for (uint64_t n = range->first; n <= range->last; ++n) {
          longer.push_back(fmt::format("{}{:0{}}", one, n, range->width));
        }
      }
    }
    begun = std::move(longer);
    name.remove_prefix(close + 1);
  }
  if (hosts->size() + begun.size() > kNumHostsMax) return Fault(fmt::format("over {} hosts", kNumHostsMax), list);
  hosts->insert(hosts->end(), begun.begin(), begun.end());
  return OkStatus();
}

// "h08" -> "h", 8, and its two digits.
struct NumberedName {
  std::string_view prefix;
  uint32_t number = 0;
  size_t width = 0;  // 0: it does not end in a number that fits
};

NumberedName SplitNumber(std::string_view name) {
  constexpr size_t kDigitsMax = 9;  // fit in any case
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9' && name.size() - begin < kDigitsMax) --begin;
  const auto number = ParseNumber(name.substr(begin));
  if (!number.has_value()) return {name, 0, 0};
  return {name.substr(0, begin), *number, name.size() - begin};
}

// Whether `next` is what comes behind `last` where numbers are written with at least `width` digits.
bool Continues(const NumberedName& last, const NumberedName& next, size_t width) {
  return next.number == last.number + 1 && fmt::format("{:0{}}", next.number, width).size() == next.width;
}

// The kind's devices: the parts of the list that begin with "gpu" and have something behind it.
template <class Take>
void ForEachGpuPart(std::string_view devices, const Take& take) {
  for (std::string_view part : SplitList(devices)) {
    if (part.starts_with("gres:")) part.remove_prefix(5);
    if (part.starts_with("gres/")) part.remove_prefix(5);
    if (part.starts_with("gpu:")) take(part.substr(4));
  }
}

}  // namespace

bool IsListName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::vector<std::string_view> SplitList(std::string_view list) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && (list[i] == '[' || list[i] == '(')) ++depth;
    if (i < list.size() && (list[i] == ']' || list[i] == ')')) --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    if (i > begin) parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

bool Contains(std::span<const std::string> hosts, const std::string& host) {
  return std::ranges::find(hosts, host) != hosts.end();
}

Result<std::vector<std::string>> ExpandHosts(std::string_view list) {
  std::vector<std::string> hosts;
  if (list == "(null)" || list == "None assigned") return hosts;
  for (const std::string_view name : SplitList(list)) FL_RETURN_IF_ERROR(ExpandOne(name, list, &hosts));
  return hosts;
}

std::string CompressHosts(std::span<const std::string> hosts) {
  std::string list;
  for (size_t i = 0; i < hosts.size();) {
    const NumberedName first = SplitNumber(hosts[i]);
    std::string ranges;
    size_t end = i;  // of the hosts that share its prefix
    while (end < hosts.size()) {
      const NumberedName from = SplitNumber(hosts[end]);
      const bool is_another = from.width == 0 || from.prefix != first.prefix;
      if (is_another && end > i) break;
      const size_t begin = end++;
      for (NumberedName last = from; end < hosts.size() && from.width > 0; ++end) {
        const NumberedName next = SplitNumber(hosts[end]);
        if (next.width == 0 || next.prefix != from.prefix || !Continues(last, next, from.width)) break;
        last = next;
      }
      if (begin > i) ranges += ',';
      ranges += hosts[begin].substr(first.prefix.size());
      if (end - begin > 1) ranges += '-' + hosts[end - 1].substr(first.prefix.size());
      if (from.width == 0) break;
    }
    if (i > 0) list += ',';
    list += end - i == 1 ? hosts[i] : fmt::format("{}[{}]", first.prefix, ranges);
    i = end;
  }
  return list;
}

Result<std::vector<uint32_t>> ExpandNumbers(std::string_view list) {
  std::vector<uint32_t> numbers;
  for (const std::string_view part : SplitList(list)) {
    const auto range = ParseRange(part);
    if (!range.has_value()) return Fault("no range of numbers", list);
    if (range->last - range->first >= kNumNumbersMax - numbers.size()) return Fault("too many numbers", list);
    for (uint64_t n = range->first; n <= range->last; ++n) numbers.push_back(static_cast<uint32_t>(n));
  }
  return numbers;
}

uint32_t CountGpus(std::string_view devices) {
  uint32_t count = 0;
  ForEachGpuPart(devices, [&count](std::string_view part) {
    part = part.substr(0, part.find('('));
    const size_t colon = part.rfind(':');
    count += ParseNumber(colon == std::string_view::npos ? part : part.substr(colon + 1)).value_or(0);
  });
  return count;
}

std::vector<uint32_t> GpuIndices(std::string_view devices) {
  std::vector<uint32_t> indices;
  ForEachGpuPart(devices, [&indices](std::string_view part) {
    constexpr std::string_view kMark = "(IDX:";
    const size_t mark = part.find(kMark);
    const size_t end = part.find(')', mark);
    if (mark == std::string_view::npos || end == std::string_view::npos) return;
    const auto numbers = ExpandNumbers(part.substr(mark + kMark.size(), end - mark - kMark.size()));
    if (numbers.ok()) indices.insert(indices.end(), numbers->begin(), numbers->end());
  });
  std::ranges::sort(indices);
  return indices;
}

}  // namespace fairlead::slurm
