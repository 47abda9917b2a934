// fairlead fabric: fabrics out of what other tools write down, what is wrong with their cables, and files for others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "base/yaml_reader.h"
#include "cli/command.h"
#include "cli/fabric_report.h"
#include "cli/output_files.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "slurm/node_conf.h"
#include "slurm/topology_conf.h"
#include "topology/fabric_yaml.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/ibnetdiscover_import.h"
#include "topology/import/infragraph_import.h"
#include "topology/import/lldp_import.h"
#include "topology/lingjun_topology.h"

namespace fairlead::cli {
namespace {

// A topo.csv, a scenario, or a file with a fabric.
Result<topology::Fabric> LoadAnyFabric(const std::string& path) {
  if (path.ends_with(".csv")) return topology::LoadLingjunTopology(path);
  return topology::LoadFabricOf(path);
}

// --- import

struct FabricImportOptions {
  std::string format;
  std::string file;
  std::string output = "-";
  std::string addresses;
  std::vector<std::string> layers;  // "border*=spine"
  topology::ImportOptions import;
};

Status ParseLayers(FabricImportOptions* options) {
  for (const std::string& text : options->layers) {
    const size_t equals = text.rfind('=');
    const std::string layer = equals == std::string::npos ? "" : text.substr(equals + 1);
    bool is_known = false;
    for (const auto kind : {topology::NodeKind::kLeaf, topology::NodeKind::kSpine, topology::NodeKind::kCore}) {
      if (layer != topology::Name(kind)) continue;
      options->import.layers.emplace_back(text.substr(0, equals), kind);
      is_known = true;
    }
    if (!is_known) {
      return InvalidArgument(fmt::format("--layer {}: expected NAME=leaf, NAME=spine or NAME=core", text));
    }
  }
  return OkStatus();
}

Result<topology::ImportedFabric> ImportLingjun(const std::string& file, const topology::ImportOptions& import) {
  topology::LingjunOptions options;
  options.host.gpus = import.host.gpus;
  options.host.gpu_model = import.host.gpu_model;
  FL_ASSIGN_OR_RETURN(const topology::Fabric fabric, topology::LoadLingjunTopology(file, options, import.max_links));
  return topology::WriteImportedFabric(
      fabric, options.host,
      fmt::format("From {}, a topo.csv of Lingjun. The file has labels only: numbers of switches, speeds and NICs are "
                  "assumptions;\n`kind: lingjun-topo` has keys for them.",
                  file));
}

Result<topology::ForeignNetwork> ReadNetwork(const FabricImportOptions& options) {
  if (options.format == "lldp") return topology::LoadLldp(options.file);
  FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(options.file, size_t{256} << 20));
  if (options.format == "slurm") return slurm::ReadTopologyConf(text, options.file, options.import.default_gbps);
  if (options.format == "ibnetdiscover") return topology::ReadIbnetdiscover(text, options.file);
  return topology::ReadInfragraph(text, options.file, options.import.max_links / 2);
}

Result<topology::ImportedFabric> ImportFile(const FabricImportOptions& options) {
  if (options.format == "lingjun") return ImportLingjun(options.file, options.import);
  FL_ASSIGN_OR_RETURN(topology::ForeignNetwork network, ReadNetwork(options));
  return topology::BuildImportedFabric(std::move(network), options.import, options.file,
                                       fmt::format("From {} ({}).", options.file, options.format));
}

std::string Summarize(const topology::Fabric& fabric) {
  size_t cables = 0;
  for (size_t l = 0; l < fabric.num_links(); l += 2) cables += topology::IsNetwork(fabric.tier(LinkId(l))) ? 1 : 0;
  const auto count = [&](topology::NodeKind kind) { return fabric.switches(kind).size(); };
  const size_t leaves = count(topology::NodeKind::kLeaf);
  return fmt::format(
      "{}, {} {}, {}, {}, {}", report::FormatCount(fabric.num_hosts(), "host"), report::FormatCount(leaves),
      leaves == 1 ? "leaf" : "leaves", report::FormatCount(count(topology::NodeKind::kSpine), "spine"),
      report::FormatCount(count(topology::NodeKind::kCore), "core"), report::FormatCount(cables, "cable"));
}

int Import(FabricImportOptions& options) {
  if (const Status status = ParseLayers(&options); !status.ok()) return ReportError(status);
  if (IsStdout(options.output) && IsStdout(options.addresses)) {
    return ReportError(InvalidArgument("fabric and addresses can't both go to the terminal; name a file with -o"));
  }
  for (const std::string& path : {options.output, options.addresses}) {
    if (const Status status = PrepareOutputFolder(path); !status.ok()) return ReportError(status);
  }
  options.file = FindInputFile(options.file);
  auto imported = ImportFile(options);
  if (!imported.ok()) return ReportError(imported.status());
  for (const std::string& note : imported->notes) fmt::print(stderr, "fairlead: note: {}\n", note);
  const size_t num_addresses = imported->addresses.num_nics() + imported->addresses.router_interfaces().size();
  if (const Status status = WriteOutput(options.output, imported->yaml); !status.ok()) return ReportError(status);
  if (!options.addresses.empty()) {
    const std::string text = topology::WriteAddressBook(imported->addresses, imported->fabric);
    if (const Status status = WriteOutput(options.addresses, text); !status.ok()) return ReportError(status);
  }
  if (IsStdout(options.output) || IsStdout(options.addresses)) return kExitOk;
  fmt::print("{} written: {}\n", options.output, Summarize(imported->fabric));
  if (!options.addresses.empty()) fmt::print("{} written: {} addresses\n", options.addresses, num_addresses);
  if (options.addresses.empty() && num_addresses > 0) {
    fmt::print("{} addresses are known too; write them with --addresses FILE\n", num_addresses);
  }
  fmt::print("Next: fairlead fabric show {}\n", options.output);
  return kExitOk;
}

void AddImport(CLI::App* fabric, Invocation* invocation) {
  auto options = std::make_shared<FabricImportOptions>();
  CLI::App* command = fabric->add_subcommand("import", "Write the fabric that another tool has found.");
  command
      ->add_option("FORMAT", options->format,
                   "lldp: a folder with HOST.json of `lldpctl -f json`; ibnetdiscover: its output; lingjun: topo.csv; "
                   "infragraph: YAML or JSON; slurm: topology.conf of topology/tree")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"lldp", "ibnetdiscover", "lingjun", "infragraph", "slurm"}));
  command->add_option("FILE", options->file, "What that tool wrote")->required();
  command->add_option("-o,--output", options->output, "Write the fabric to FILE instead of the terminal")
      ->type_name("FILE");
  command
      ->add_option("--addresses", options->addresses,
                   "Write the addresses of NICs and switches to FILE, for the controller")
      ->type_name("FILE");
  command->add_option("--speed", options->import.default_gbps, "Speed of cables for which the file has none")
      ->type_name("GBPS")
      ->check(CLI::Range(1e-6, 1e6));
  command
      ->add_option("--hosts", options->import.hosts,
                   "Devices that are hosts: a name or a pattern such as 'node*'; repeatable")
      ->type_name("PATTERN");
  command->add_option("--switches", options->import.switches, "Devices that are switches; repeatable")
      ->type_name("PATTERN");
  command->add_option("--without", options->import.without, "Devices to leave out, such as storage; repeatable")
      ->type_name("PATTERN");
  command
      ->add_option("--layer", options->layers,
                   "Switches whose layer is not their distance from hosts: 'border*=spine'; repeatable")
      ->type_name("PATTERN=LAYER");
  command
      ->add_option("--ports-per-nic", options->import.ports_per_nic,
                   "Ports of a host that make one NIC, in order of their names")
      ->check(CLI::Range(1, 16));
  command->add_option("--gpus", options->import.host.gpus, "GPUs of each host")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--gpu-model", options->import.host.gpu_model, "Their name, for reports")->capture_default_str();
  command->footer("Example: fairlead fabric import lldp reports/ -o fabric.yaml --addresses addresses.json");
  command->callback([options, invocation] { invocation->exit_code = Import(*options); });
}

// --- export

struct FabricExportOptions {
  std::string format;
  std::string file;
  std::string output = "-";
  bool has_nodes = false;  // lines for slurm.conf instead
};

int Export(const FabricExportOptions& options) {
  if (const Status status = PrepareOutputFolder(options.output); !status.ok()) return ReportError(status);
  const auto fabric = LoadAnyFabric(FindInputFile(options.file));
  if (!fabric.ok()) return ReportError(fabric.status());
  const auto text =
      options.has_nodes ? slurm::WriteNodeConf(*fabric, options.file) : slurm::WriteTopologyConf(*fabric, options.file);
  if (!text.ok()) return ReportError(text.status());
  if (const Status status = WriteOutput(options.output, *text); !status.ok()) return ReportError(status);
  if (IsStdout(options.output)) return kExitOk;
  fmt::print("{} written: {}\n", options.output, report::FormatCount(fabric->num_hosts(), "host"));
  if (options.has_nodes) {
    fmt::print("Next: add what `slurmd -C` prints on a host, and put the lines into slurm.conf\n");
    return kExitOk;
  }
  fmt::print("Next: copy it beside slurm.conf, set TopologyPlugin=topology/tree there, and restart slurmctld\n");
  return kExitOk;
}

void AddExport(CLI::App* fabric, Invocation* invocation) {
  auto options = std::make_shared<FabricExportOptions>();
  CLI::App* command = fabric->add_subcommand("export", "Write a fabric as a file of another tool.");
  command
      ->add_option("FORMAT", options->format,
                   "slurm: topology.conf, by which Slurm places jobs on near hosts, or lines for slurm.conf")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"slurm"}));
  command->add_option("FILE", options->file, "A scenario, a file with a fabric, or a topo.csv")->required();
  command->add_option("-o,--output", options->output, "Write to FILE instead of the terminal")->type_name("FILE");
  command->add_flag("--nodes", options->has_nodes, "Lines for slurm.conf instead: NodeName, Gres and PartitionName");
  command->footer("Example: fairlead fabric export slurm fabric.yaml -o /etc/slurm/topology.conf");
  command->callback([options, invocation] { invocation->exit_code = Export(*options); });
}

// --- show

struct FabricShowOptions {
  std::string file;
  OutputOptions output;
  size_t rows = 20;
};

int Show(const FabricShowOptions& options) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto fabric = LoadAnyFabric(FindInputFile(options.file));
  if (!fabric.ok()) return ReportError(fabric.status());
  const FabricPicture picture = LookAt(*fabric);
  files->Print(RenderFabric(*fabric, picture, options.file, options.rows));
  files->WriteJson("JSON", [&] { return report::Dump(FabricJson(*fabric, picture)); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

void AddShow(CLI::App* fabric, Invocation* invocation) {
  auto options = std::make_shared<FabricShowOptions>();
  CLI::App* show = fabric->add_subcommand("show", "Print a fabric's layers, single points of failure and odd cables.");
  show->add_option("FILE", options->file, "A scenario, a file with a fabric, or a topo.csv")->required();
  show->add_option("--rows", options->rows, "Longest list; 0: no limit")->capture_default_str();
  AddOutputOptions(show, &options->output, "Write all of it as JSON to FILE; - prints only JSON");
  show->footer("Example: fairlead fabric show fabric.yaml");
  show->callback([options, invocation] { invocation->exit_code = Show(*options); });
}

}  // namespace

void AddFabricCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* fabric = app.add_subcommand(
      "fabric",
      "Import fabrics from LLDP, InfiniBand and other tools, find cabling mistakes, and write Slurm's topology.conf.");
  fabric->footer("Example: fairlead fabric import lldp lldp-reports/ -o fabric.yaml --addresses addresses.json");
  fabric->require_subcommand(1);
  AddImport(fabric, invocation);
  AddExport(fabric, invocation);
  AddShow(fabric, invocation);
}

}  // namespace fairlead::cli
