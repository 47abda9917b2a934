#include "sim/scenario_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.h"
#include "sim/scenario_keys.h"

namespace fairlead::sim {

namespace {

constexpr size_t kWidth = 110;

const YamlKey& Find(const YamlMapKeys& map, std::string_view key, std::string_view kind) {
  const YamlKey* found = FindYamlKey(map, key, kind);
  FL_CHECK_MSG(found != nullptr, fmt::format("a template names the key '{}', which {} does not have", key, map.name));
  return *found;
}

// One map of the file, with the keys of `keys`.
class MapWriter {
 public:
  MapWriter(std::string* text, const YamlMapKeys& keys, size_t depth, std::string kind = "")
      : text_(text), keys_(keys), depth_(depth), kind_(std::move(kind)) {}

  void Key(std::string_view key, std::string_view value) {
    Explain(key);
    Line("", key, value);
  }

  // A key to take the '#' from.
  void Option(std::string_view key, std::string_view value) {
    Explain(key);
    Line("#", key, value);
  }

  // A key without explanation.
  void Plain(std::string_view key, std::string_view value) { Line("", key, value); }

  MapWriter Map(std::string_view key, std::string kind = "") {
    Explain(key);
    Line("", key, "");
    return MapWriter(text_, *Find(keys_, key, kind_).map, depth_ + 1, std::move(kind));
  }

  // The first key of an entry of a list has the dash.
  MapWriter Entry() {
    MapWriter entry = *this;
    ++entry.depth_;
    entry.has_dash_ = true;
    return entry;
  }

  void Note(std::string_view note) { Wrap(note); }

 private:
  std::string Indent() const { return std::string(2 * depth_, ' '); }

  void Explain(std::string_view key) {
    const YamlKey& declared = Find(keys_, key, kind_);
    std::string meaning(declared.meaning);
    if (const std::string_view unit = UnitName(declared.unit); !unit.empty()) {
      meaning += fmt::format(" In {}, or with a unit.", unit);
    }
    Wrap(meaning);
  }

  void Wrap(std::string_view text) {
    const std::string start = Indent() + "#";
    std::string line = start;
    for (const std::string_view word : SplitAtSpaces(text)) {
      if (line.size() + 1 + word.size() > kWidth) {
        *text_ += line + "\n";
        line = start;
      }
      line += ' ';
      line += word;
    }
    *text_ += line + "\n";
  }

  void Line(std::string_view mark, std::string_view key, std::string_view value) {
    (void)Find(keys_, key, kind_);
    std::string indent = Indent();
    if (has_dash_) {
      indent.replace(indent.size() - 2, 2, "- ");
      has_dash_ = false;
    }
    *text_ += fmt::format("{}{}{}:{}{}\n", indent, mark, key, value.empty() ? "" : " ", value);
  }

  std::string* text_;
  const YamlMapKeys& keys_;
  size_t depth_;
  std::string kind_;
  bool has_dash_ = false;
};

void WriteClosFabric(MapWriter& root) {
  MapWriter fabric = root.Map("fabric", "clos2");
  fabric.Key("kind", "clos2");
  fabric.Key("leaves", "8");
  fabric.Key("hosts_per_leaf", "4");
  fabric.Key("spines", "8");
  fabric.Key("oversubscription", "1:1");
  MapWriter host = fabric.Map("host");
  host.Key("gpus", "8");
  host.Key("gpu_model", "A100");
  host.Key("gpu_peak_tflops", "312");
  host.Key("nics", "4");
  host.Key("port_gbps", "200");
  host.Option("ports_per_nic", "2");
  fabric.Option("links", "[{from: leaf3, to: spine1, gbps: 50}]");
}

void WriteRailFabric(MapWriter& root) {
  MapWriter fabric = root.Map("fabric", "rail-dual-plane");
  fabric.Key("kind", "rail-dual-plane");
  fabric.Key("segments", "2");
  fabric.Key("hosts_per_segment", "16");
  fabric.Key("spines", "8");
  fabric.Key("oversubscription", "1:1");
  fabric.Option("shared_planes", "true");
  MapWriter host = fabric.Map("host");
  host.Key("gpus", "8");
  host.Key("gpu_model", "H800");
  host.Key("gpu_peak_tflops", "989");
  host.Key("nics", "8");
  host.Key("ports_per_nic", "2");
  host.Key("port_gbps", "200");
  fabric.Option("links", "[{from: leaf0, to: spine1, gbps: 50}]");
}

void WriteLabFabric(MapWriter& root) {
  MapWriter fabric = root.Map("fabric", "clos2");
  fabric.Key("kind", "clos2");
  fabric.Key("leaves", "2");
  fabric.Key("hosts_per_leaf", "4");
  fabric.Key("spines", "4");
  fabric.Key("oversubscription", "1:1");
  fabric.Note("One GPU and one NIC for each host: the lab has network namespaces for hosts, and no GPUs.");
  MapWriter host = fabric.Map("host");
  host.Key("gpus", "1");
  host.Key("sockets", "1");
  host.Key("pcie_switches", "1");
  host.Key("nics", "1");
  host.Key("port_gbps", "200");
}

void WriteComparison(MapWriter& root, std::string_view policies) {
  root.Key("policies", policies);
  root.Key("seeds", "5");
  root.Key("simulate_s", "60");
}

void WriteRareOptions(MapWriter& root, std::string_view link) {
  root.Option("vary", "[hash, phase]");
  root.Option("qps_per_connection", "4");
  root.Option("congestion", "dcqcn");
  root.Option("levels", "4");
  root.Option("link_events", fmt::format("[{{at_s: 30, link: \"{}\", health: 0}}]", link));
}

void WriteProfiledJobs(MapWriter& root) {
  MapWriter jobs = root.Map("jobs");
  jobs.Note("A large model, by its profile.");
  MapWriter large = jobs.Entry();
  large.Plain("name", "large");
  large.Key("gpus", "96");
  large.Key("model", "gpt-13b");
  large.Key("parallelism", "{tensor: 8, micro_batches: 4}");
  large.Option("arrival_s", "10");
  large.Option("iterations", "1000");
  jobs.Note("Equal jobs.");
  MapWriter small = jobs.Entry();
  small.Plain("name", "small");
  small.Plain("gpus", "16");
  small.Key("count", "4");
  small.Plain("model", "bert-large");
  jobs.Note("A job of which only times and sizes are known.");
  MapWriter plain = jobs.Entry();
  plain.Plain("name", "measured");
  plain.Plain("gpus", "32");
  plain.Key("compute_s", "250ms");
  plain.Key("size_mb", "8GB");
  plain.Key("collective", "hierarchical-all-reduce");
  plain.Key("start_fraction", "0.5");
}

void WriteLabJobs(MapWriter& root) {
  MapWriter jobs = root.Map("jobs");
  for (int i = 0; i < 4; ++i) {
    MapWriter job = jobs.Entry();
    job.Plain("name", fmt::format("job{}", i));
    if (i == 0) {
      job.Key("gpus", "2");
      job.Key("gpus_per_host", "1");
      job.Key("hosts", "[h0, h4]");
      job.Key("compute_s", "20ms");
      job.Key("size_mb", "10GB");
      job.Key("collective", "ring-all-reduce");
      continue;
    }
    job.Plain("gpus", "2");
    job.Plain("gpus_per_host", "1");
    job.Plain("hosts", fmt::format("[h{}, h{}]", i, i + 4));
    job.Plain("compute_s", "20ms");
    job.Plain("size_mb", "10GB");
    job.Plain("collective", "ring-all-reduce");
  }
}

std::string Heading(std::string_view shape, std::string_view commands) {
  return fmt::format(
      "# {}\n#\n{}#\n# A line that begins with '#' and no space is a key that you may want: remove the '#'.\n"
      "# All keys: docs/reference/scenario.md, or `fairlead schema scenario --page`.\n",
      shape, commands);
}

std::string ClosTemplate() {
  std::string text = Heading("Leaves and spines: 256 GPUs, three kinds of jobs, three policies.",
                             "#   fairlead check FILE\n#   fairlead sim run FILE --html report.html\n");
  MapWriter root(&text, kScenarioKeys, 0);
  root.Key("title", "My cluster");
  WriteClosFabric(root);
  WriteComparison(root, "[ecmp, crux, c4p]");
  root.Key("placement", "random");
  WriteProfiledJobs(root);
  WriteRareOptions(root, "leaf0->spine1");
  return text;
}

std::string RailTemplate() {
  std::string text = Heading("Rails and two planes: 256 GPUs, three kinds of jobs, three policies.",
                             "#   fairlead check FILE\n#   fairlead sim run FILE --html report.html\n");
  MapWriter root(&text, kScenarioKeys, 0);
  root.Key("title", "My rail-optimized cluster");
  WriteRailFabric(root);
  WriteComparison(root, "[ecmp, crux, c4p]");
  root.Key("placement", "random");
  WriteProfiledJobs(root);
  WriteRareOptions(root, "leaf0->spine1");
  return text;
}

std::string LabTemplate() {
  std::string text =
      Heading("A lab: eight hosts as network namespaces of this machine, with real TCP between them.",
              "#   sudo fairlead lab up FILE --scale 0.0001     # 200 Gb/s become 20 Mb/s\n"
              "#   sudo fairlead lab run FILE --simulate        # real processes, and the simulator beside them\n"
              "#   sudo fairlead lab down\n");
  MapWriter root(&text, kScenarioKeys, 0);
  root.Key("title", "My lab");
  WriteLabFabric(root);
  WriteComparison(root, "[ecmp, c4p]");
  root.Key("goodput", "0.98");
  WriteLabJobs(root);
  root.Option("qps_per_connection", "4");
  return text;
}

}  // namespace

std::vector<std::string_view> ScenarioTemplateNames() { return {"clos", "rail", "lab"}; }

Result<std::string> ScenarioTemplate(std::string_view name) {
  if (name == "clos") return ClosTemplate();
  if (name == "rail") return RailTemplate();
  if (name == "lab") return LabTemplate();
  return Status(StatusCode::kNotFound,
                fmt::format("there is no template '{}'; expected {}", name, fmt::join(ScenarioTemplateNames(), ", ")));
}

}  // namespace fairlead::sim
