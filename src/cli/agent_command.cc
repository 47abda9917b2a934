// fairlead agent probe: over which routers do connections go, port by port?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/text_table.h"
#include "service/agent/path_probe.h"

namespace fairlead::cli {
namespace {

using report::Align;
using report::Json;
using service::ProbedHop;
using service::ProbedPath;

struct ProbeCommandOptions {
  std::string destination;
  uint16_t port = 0;
  std::string source;
  std::string source_ports = "49152-49215";
  uint32_t num_hops = 8;
  uint32_t timeout_ms = 300;
  uint32_t num_attempts = 3;
  OutputOptions output;
};

// "40000-40063,50000" -> its ports. Errors: kInvalidArgument.
Result<std::vector<uint16_t>> ParsePorts(const std::string& text) {
  std::vector<uint16_t> ports;
  for (const std::string& range : CLI::detail::split(text, ',')) {
    const std::vector<std::string> ends = CLI::detail::split(range, '-');
    uint16_t first = 0, last = 0;
    const bool is_good = (ends.size() == 1 || ends.size() == 2) && CLI::detail::lexical_cast(ends.front(), first) &&
                         CLI::detail::lexical_cast(ends.back(), last) && first >= 1 && first <= last;
    if (!is_good) {
      return InvalidArgument(fmt::format(
          "--source-ports: expected ports between 1 and 65535 such as 40000-40063,50000, found '{}'", range));
    }
    for (uint32_t port = first; port <= last; ++port) ports.push_back(static_cast<uint16_t>(port));
  }
  return ports;
}

Result<service::PathProbeOptions> ToProbeOptions(const ProbeCommandOptions& options) {
  service::PathProbeOptions probe;
  FL_ASSIGN_OR_RETURN(probe.destination, ParseIpAddress(options.destination));
  if (!options.source.empty()) {
    FL_ASSIGN_OR_RETURN(probe.source, ParseIpAddress(options.source));
  }
  FL_ASSIGN_OR_RETURN(probe.source_ports, ParsePorts(options.source_ports));
  probe.destination_port = options.port;
  probe.last_hop = options.num_hops;
  probe.timeout = std::chrono::milliseconds(options.timeout_ms);
  probe.num_attempts = options.num_attempts;
  return probe;
}

std::string NameOf(const ProbedHop& hop) {
  switch (hop.kind) {
    case ProbedHop::Kind::kSilent:
      return "?";
    case ProbedHop::Kind::kUnreachable:
      return hop.address.ToString() + " (no way on)";
    case ProbedHop::Kind::kRouter:
    case ProbedHop::Kind::kDestination:
      return hop.address.ToString();
  }
  return "";
}

const char* KindOf(const ProbedHop& hop) {
  switch (hop.kind) {
    case ProbedHop::Kind::kSilent:
      return "silent";
    case ProbedHop::Kind::kRouter:
      return "router";
    case ProbedHop::Kind::kUnreachable:
      return "unreachable";
    case ProbedHop::Kind::kDestination:
      return "destination";
  }
  return "";
}

std::string RouteOf(const ProbedPath& path) {
  std::vector<std::string> names;
  for (const ProbedHop& hop : path.hops) names.push_back(NameOf(hop));
  // Silence behind the last answer says nothing.
  while (names.size() > 1 && names.back() == "?") names.pop_back();
  return fmt::format("{}", fmt::join(names, " > "));
}

// "40000-40002, 40007": neighbours together.
std::string DescribePorts(const std::vector<uint16_t>& ports) {
  std::string text;
  for (size_t i = 0; i < ports.size();) {
    size_t last = i;
    while (last + 1 < ports.size() && ports[last + 1] == ports[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", ports[i]) : fmt::format("{}-{}", ports[i], ports[last]);
    i = last + 1;
  }
  return text;
}

using Routes = std::map<std::string, std::vector<uint16_t>>;  // route -> ports

Routes GroupByRoute(const std::vector<ProbedPath>& paths) {
  Routes routes;
  for (const ProbedPath& path : paths) {
    if (!path.is_taken) routes[RouteOf(path)].push_back(path.source_port);
  }
  for (auto& [route, ports] : routes) std::sort(ports.begin(), ports.end());
  return routes;
}

report::Document RenderRoutes(const ProbeCommandOptions& options, const std::vector<ProbedPath>& paths) {
  const Routes routes = GroupByRoute(paths);
  size_t num_probed = 0;
  for (const auto& [route, ports] : routes) num_probed += ports.size();
  report::Document text = fmt::format("{} to {} port {}: {}\n\n", report::FormatCount(num_probed, "source port"),
                                      options.destination, options.port, report::FormatCount(routes.size(), "path"));
  report::TextTable table({{"over", Align::kLeft, "", "routers on the way, first to last; ?: one that does not answer"},
                           {"ports", Align::kRight, "", "how many source ports go this way"},
                           {"share", Align::kRight},
                           {"which", Align::kLeft, "", "source ports"}});
  for (const auto& [route, ports] : routes) {
    const double share = static_cast<double>(ports.size()) / static_cast<double>(num_probed);
    table.AddRow({route, report::FormatCount(ports.size()), report::FormatPercent(share), DescribePorts(ports)});
  }
  if (!table.empty()) text += std::move(table);
  if (num_probed < paths.size()) {
    text += fmt::format("\n{} not probed: in use on this host.\n",
                        report::FormatCount(paths.size() - num_probed, "source port"));
  }
  return text;
}

Json ToJson(const ProbeCommandOptions& options, const std::vector<ProbedPath>& paths) {
  Json json = {{"destination", options.destination}, {"port", options.port}, {"paths", Json::array()}};
  for (const ProbedPath& path : paths) {
    Json hops = Json::array();
    for (const ProbedHop& hop : path.hops) {
      const bool is_silent = hop.kind == ProbedHop::Kind::kSilent;
      hops.push_back({{"kind", KindOf(hop)},
                      {"address", is_silent ? Json() : Json(hop.address.ToString())},
                      {"rtt_s", is_silent ? Json() : Json(hop.rtt.value())}});
    }
    json["paths"].push_back({{"source_port", path.source_port}, {"in_use", path.is_taken}, {"hops", std::move(hops)}});
  }
  return json;
}

int Probe(const ProbeCommandOptions& options) {
  const auto probe = ToProbeOptions(options);
  if (!probe.ok()) return ReportError(probe.status());
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto paths = ProbePaths(*probe);
  if (!paths.ok()) return ReportError(paths.status());
  files->Print(RenderRoutes(options, *paths));
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(options, *paths)); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

}  // namespace

void AddAgentCommands(CLI::App& app, Invocation* invocation) {
  CLI::App* agent =
      app.add_subcommand("agent", "Run a host's agent, inspect its training processes, probe paths to other hosts.");
  agent->footer("Example: fairlead agent probe 10.0.1.5 --port 29500");
  agent->require_subcommand(1);
  AddAgentRunCommand(agent, invocation);
  AddAgentProcessesCommand(agent, invocation);
  AddAgentCheckCommand(agent, invocation);
  auto options = std::make_shared<ProbeCommandOptions>();
  CLI::App* probe = agent->add_subcommand("probe", "Trace the route of TCP connections for each source port.");
  probe->add_option("destination", options->destination, "Address of another host")->required();
  probe->add_option("--port", options->port, "Port of the other host, open or not")
      ->required()
      ->check(CLI::Range(1, 65535));
  probe->add_option("--source", options->source, "Address of this host to send from")->type_name("ADDRESS");
  probe->add_option("--source-ports", options->source_ports, "Source ports to try")
      ->type_name("PORTS")
      ->capture_default_str();
  probe->add_option("--hops", options->num_hops, "Most hops to trace")->check(CLI::Range(1, 64))->capture_default_str();
  probe->add_option("--timeout-ms", options->timeout_ms, "Milliseconds to wait for a hop's answer")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  probe->add_option("--attempts", options->num_attempts, "Attempts for a silent hop")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  AddOutputOptions(probe, &options->output, "Write every port with its hops as JSON to FILE; - prints only JSON");
  probe->footer("Example: fairlead agent probe 10.0.1.5 --port 29500 --source-ports 40000-40063");
  probe->callback([options, invocation] { invocation->exit_code = Probe(*options); });
}

}  // namespace fairlead::cli
