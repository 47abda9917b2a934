#include "topology/explicit_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace fairlead::topology {

namespace {

// Lines of lists break near this column.
constexpr size_t kListWidth = 100;

bool IsPlainName(std::string_view name) {
  constexpr std::array<std::string_view, 7> kWords = {"null", "true", "false", "yes", "no", "on", "off"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (name.empty() || !is_letter(name.front()) || !std::ranges::all_of(name, is_inner)) return false;
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower.size() > 1 && std::ranges::find(kWords, lower) == kWords.end();
}

// Builds the text, and keeps the first name that can't be written.
class ExplicitWriter {
 public:
  ExplicitWriter(const Fabric& fabric, const HostSpec& host) : fabric_(fabric), host_(host) {}

  Result<std::string> Write(const std::string& comment) {
    for (size_t begin = 0; begin < comment.size();) {
      const size_t end = std::min(comment.find('\n', begin), comment.size());
      text_ += fmt::format("#{}{}\n", end > begin ? " " : "", comment.substr(begin, end - begin));
      begin = end + 1;
    }
    text_ += "fabric:\n  kind: explicit\n";
    WriteHostSpec();
    WriteSwitches();
    WriteHosts();
    WriteCables();
    if (!status_.ok()) return status_;
    return std::move(text_);
  }

 private:
  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  // As YAML. JSON's quoted strings are strings of YAML too.
  std::string Quote(const std::string& name) {
    if (IsPlainName(name)) return name;
    try {
      return nlohmann::json(name).dump();
    } catch (const nlohmann::json::exception&) {
      if (status_.ok()) {
        status_ = InvalidArgument("a name is not UTF-8; expected names of letters, digits, '-', '_', '.' and '/'");
      }
      return "''";
    }
  }

  static double Gigabits(BytesPerSecond speed) { return speed.value() * 8 / 1e9; }

  void WriteHostSpec() {
    Add("  host:\n    gpus: {}\n    gpu_model: {}\n    gpu_peak_tflops: {}\n", host_.gpus, Quote(host_.gpu_model),
        host_.gpu_peak.value() / 1e12);
    Add("    nvlink_gigabytes_per_s: {}\n    sockets: {}\n    socket_gigabytes_per_s: {}\n",
        host_.nvlink_speed.value() / 1e9, host_.sockets, host_.socket_speed.value() / 1e9);
    Add("    pcie_switches: {}\n    pcie_gigabytes_per_s: {}\n", host_.pcie_switches, host_.pcie_speed.value() / 1e9);
    Add("    nics: {}\n    ports_per_nic: {}\n    port_gbps: {}\n", host_.nics, host_.ports_per_nic,
        Gigabits(host_.port_speed));
  }

  void WriteList(std::string_view key, const std::vector<std::string>& names) {
    Add("{}: [", key);
    size_t column = key.size() + 3;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string name = Quote(names[i]);
      if (i > 0) Add(",");
      if (i > 0 && column + name.size() + 2 > kListWidth) {
        Add("\n     ");
        column = 5;
      }
      Add("{}{}", i > 0 ? " " : "", name);
      column += name.size() + 2;
    }
    Add("]\n");
  }

  void WriteSwitches() {
    bool has_switches = false;
    for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
      std::vector<std::string> names;
      for (const NodeId node : fabric_.switches(kind)) names.push_back(fabric_.NodeName(node));
      if (names.empty()) continue;
      if (!has_switches) Add("  switches:\n");
      has_switches = true;
      WriteList(fmt::format("    {}", Name(kind)), names);
    }
  }

  bool IsLikeSpec(HostId host) const {
    return fabric_.num_gpus_of(host) == host_.gpus && fabric_.num_nics_of(host) == host_.nics;
  }

  void WriteHosts() {
    std::vector<std::string> names;
    std::string others;
    for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) {
      if (IsLikeSpec(host)) {
        names.push_back(fabric_.HostName(host));
        continue;
      }
      others += fmt::format("    - {{name: {}, gpus: {}, nics: {}}}\n", Quote(fabric_.HostName(host)),
                            fabric_.num_gpus_of(host), fabric_.num_nics_of(host));
    }
    if (!names.empty()) WriteList("  hosts", names);
    if (!others.empty()) Add("  other_hosts:\n{}", others);
  }

  // Equal cables that follow one another are one entry: their order, and so their numbers, stay.
  void WriteCables() {
    constexpr uint32_t kMaxParallel = 1024;
    Add("  cables:\n");
    for (size_t l = 0; l < fabric_.num_links();) {
      const LinkId link(l);
      uint32_t parallel = 1;
      const auto is_equal = [&](LinkId other) {
        return fabric_.source(other) == fabric_.source(link) &&
               fabric_.destination(other) == fabric_.destination(link) &&
               fabric_.capacity(other) == fabric_.capacity(link);
      };
      // Links lie in pairs, one for each direction.
      const auto next = [&] { return l + size_t{2} * parallel; };
      while (next() < fabric_.num_links() && parallel < kMaxParallel && is_equal(LinkId(next()))) {
        ++parallel;
      }
      l += 2 * size_t{parallel};
      if (!IsNetwork(fabric_.tier(link))) continue;
      Add("    - {{from: {}, to: {}, gbps: {}", Quote(fabric_.NodeName(fabric_.source(link))),
          Quote(fabric_.NodeName(fabric_.destination(link))), Gigabits(fabric_.capacity(link)));
      if (parallel > 1) Add(", parallel: {}", parallel);
      Add("}}\n");
    }
  }

  const Fabric& fabric_;
  const HostSpec& host_;
  std::string text_;
  Status status_;
};

}  // namespace

Result<std::string> WriteExplicitFabric(const Fabric& fabric, const HostSpec& host, const std::string& comment) {
  return ExplicitWriter(fabric, host).Write(comment);
}

}  // namespace fairlead::topology
