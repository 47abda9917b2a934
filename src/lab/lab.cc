#include "lab/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file_writer.h"
#include "base/steady_seconds.h"
#include "lab/cable_changes.h"
#include "lab/lab_routes.h"
#include "lab/link_setup.h"
#include "lab/link_shaping.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

const std::vector<std::string> kIpBatch = {"ip", "-batch", "-"};
const std::vector<std::string> kTcBatch = {"tc", "-batch", "-"};
const std::vector<std::string> kNftBatch = {"nft", "-f", "-"};

Status Missing(std::string message) { return {StatusCode::kFailedPrecondition, std::move(message)}; }

// What a kernel or a machine must have, each tried once before a lab is built.
struct Requirement {
  std::vector<std::string> args;
  std::string what;    // "virtual Ethernet pairs (veth)"
  std::string remedy;  // "modprobe veth, or …"
  std::string input = "";
};

// User namespaces may be made and still give no rights (Ubuntu 24.04 and later).
constexpr const char* kNoRight =
    "run as root, or as root allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0";

std::vector<Requirement> Requirements() {
  const std::string module = "; load the module {0} (modprobe {0}), or use a kernel that is built with it";
  const auto load = [&](std::string_view name) { return fmt::format(fmt::runtime(module.substr(2)), name); };
  return {
      {{"ip", "link", "set", "lo", "up"}, "the right to change its own network namespaces", kNoRight},
      {{"ip", "link", "add", "name", "try0", "type", "veth", "peer", "name", "try1"},
       "pairs of virtual Ethernet interfaces (veth)",
       load("veth")},
      {{"ip", "link", "set", "try0", "gso_max_size", "16384"},
       "a limit on the size of packets (gso_max_size)",
       "use iproute2 4.17 or later"},
      {{"tc", "qdisc", "add", "dev", "try0", "root", "handle", "1:", "htb"},
       "hierarchical token buckets (HTB)",
       load("sch_htb")},
      {{"tc", "class", "add", "dev", "try0", "parent", "1:", "classid", "1:1", "htb", "rate", "1mbit"},
       "classes of HTB",
       load("sch_htb")},
      {{"tc", "filter", "add", "dev", "try0", "parent", "1:", "protocol", "ip", "prio", "1", "bpf", "bytecode",
        "1,6 0 0 65537"},
       "filters in BPF (cls_bpf)",
       load("cls_bpf")},
      {{"ip", "link", "set", "try0", "up"}, "interfaces that can be switched on", "see the message"},
      {{"ip", "link", "set", "try1", "up"}, "interfaces that can be switched on", "see the message"},
      {{"ip", "route", "add", "10.0.0.1/32", "nexthop", "via", "10.128.0.1", "dev", "try0", "onlink", "nexthop", "via",
        "10.128.0.3", "dev", "try1", "onlink"},
       "routes over several cables (CONFIG_IP_ROUTE_MULTIPATH)",
       "use a kernel that is built with it"},
      {{"ip", "rule", "add", "from", "10.0.0.2", "lookup", "100"},
       "several routing tables (CONFIG_IP_MULTIPLE_TABLES)",
       "use a kernel that is built with it"},
      {{"ip", "rule", "del", "from", "10.0.0.2", "lookup", "100"}, "several routing tables", "see the message"},
      {{"ip", "link", "del", "try0"}, "interfaces that can be removed", "see the message"},
  };
}

// Of NICs with several ports only.
std::vector<Requirement> BondRequirements() {
  return {{kNftBatch, "chains of nftables that choose the route again (NICs have several ports)",
           "use a kernel that is built with nf_tables", BondCommands()},
          {{"nft", "delete", "table", "inet", "fairlead_lab"},
           "tables of nftables that can be removed",
           "see the message"}};
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Tries each requirement, in the first node's namespace, which is left as it was found.
Status CheckRequirements(const KeeperId& keeper, const std::vector<Requirement>& requirements) {
  for (const Requirement& requirement : requirements) {
    FL_ASSIGN_OR_RETURN(const auto outcomes,
                        RunCommands(keeper, {{LabNodeId(0u), requirement.args, requirement.input}}));
    const CommandOutcome& outcome = outcomes.front();
    if (outcome.exit_code == 127) {
      const std::string& program = requirement.args.front();
      return Missing(fmt::format("a lab needs the program '{}', which was not found. Install it: apt-get install {}",
                                 program, program == "nft" ? "nftables" : "iproute2"));
    }
    if (outcome.exit_code != 0) {
      return Missing(fmt::format("a lab needs {}, which this kernel refuses: {}. Next: {}", requirement.what,
                                 FirstLine(outcome.errors), requirement.remedy));
    }
  }
  return OkStatus();
}

// Runs commands and turns the first failure into a Status.
Status RunAll(const KeeperId& keeper, const LabPlan& plan, const std::vector<NamespaceCommand>& commands) {
  FL_ASSIGN_OR_RETURN(const auto outcomes, RunCommands(keeper, commands));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].exit_code == 0) continue;
    return Unavailable(fmt::format("{} in {} failed: {}", commands[i].args.front(), plan.nodes[commands[i].node].name,
                                   FirstLine(outcomes[i].errors)));
  }
  return OkStatus();
}

template <class TextOf>
std::vector<NamespaceCommand> ForEachNode(const LabPlan& plan, const std::vector<std::string>& args,
                                          const TextOf& text_of) {
  std::vector<NamespaceCommand> commands;
  for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    std::string text = text_of(node);
    if (!text.empty()) commands.push_back({node, args, std::move(text)});
  }
  return commands;
}

std::string ShapingOf(const LabPlan& plan, LabNodeId node) {
  std::string text;
  for (const CableId cable : plan.nodes[node].cables) {
    text += ShapingCommands(plan, cable, plan.cables[cable].ends[EndAt(plan, cable, node)].interface);
  }
  return text;
}

// Changes the routes of all nodes from those of one health to those of another.
Status ChangeRoutes(const KeeperId& keeper, const LabPlan& plan, const LabRoutes& before, const LabRoutes& after) {
  return RunAll(keeper, plan, ForEachNode(plan, kIpBatch, [&](LabNodeId node) {
                  return RouteCommands(plan, node, before[node], after[node]);
                }));
}

// Everything of a lab but its namespaces.
Status Build(const KeeperId& keeper, const LabPlan& plan, const std::atomic<bool>& stop) {
  const auto check_stop = [&] {
    return stop ? Status(StatusCode::kCancelled, "stopped; nothing of the lab is left") : OkStatus();
  };
  FL_RETURN_IF_ERROR(CheckRequirements(keeper, Requirements()));
  const auto bond = [&](LabNodeId node) { return HasBondedNic(plan, node) ? BondCommands() : std::string(); };
  const auto bonds = ForEachNode(plan, kNftBatch, bond);
  if (!bonds.empty()) FL_RETURN_IF_ERROR(CheckRequirements(keeper, BondRequirements()));
  FL_RETURN_IF_ERROR(check_stop());
  const auto path = [&](LabNodeId node) { return NetworkNamespacePath(keeper, node); };
  FL_RETURN_IF_ERROR(RunAll(keeper, plan, {{LabNodeId(0u), kIpBatch, CableCommands(plan, path)}}));
  FL_RETURN_IF_ERROR(check_stop());
  FL_RETURN_IF_ERROR(
      RunAll(keeper, plan, ForEachNode(plan, kTcBatch, [&](LabNodeId n) { return ShapingOf(plan, n); })));
  FL_RETURN_IF_ERROR(check_stop());
  FL_RETURN_IF_ERROR(
      RunAll(keeper, plan, ForEachNode(plan, kIpBatch, [&](LabNodeId n) { return AddressCommands(plan, n); })));
  FL_RETURN_IF_ERROR(RunAll(keeper, plan, bonds));
  const LabRoutes routes = ComputeRoutes(plan, CableHealth(plan.cables.size(), 1));
  FL_RETURN_IF_ERROR(ChangeRoutes(keeper, plan, LabRoutes(plan.nodes.size()), routes));
  return check_stop();
}

Status SetCarrier(const KeeperId& keeper, const LabPlan& plan, CableId cable, bool up) {
  std::vector<NamespaceCommand> commands;
  for (const CableEnd& end : plan.cables[cable].ends) {
    commands.push_back({end.node, kIpBatch, fmt::format("link set {} {}\n", end.interface, up ? "up" : "down")});
  }
  if (up) {
    // Going down took the neighbour away, however permanent.
    for (size_t i = 0; i < 2; ++i) {
      const CableEnd& peer = plan.cables[cable].ends[1 - i];
      commands[i].input += fmt::format("neigh replace {} lladdr {} dev {} nud permanent\n", FormatAddress(peer.address),
                                       FormatHardwareAddress(peer.address), plan.cables[cable].ends[i].interface);
    }
  }
  return RunAll(keeper, plan, commands);
}

Status SetSpeed(const KeeperId& keeper, const LabPlan& plan, CableId cable, double health) {
  std::vector<NamespaceCommand> commands;
  for (const CableEnd& end : plan.cables[cable].ends) {
    commands.push_back({end.node, kTcBatch, SpeedCommand(plan, cable, end.interface, health)});
  }
  return RunAll(keeper, plan, commands);
}

Result<LabState> StartLab(const LabFolder& folder, const std::string& source, const LabPlan& plan,
                          const std::atomic<bool>& stop) {
  FL_ASSIGN_OR_RETURN(NewKeeper keeper, NewKeeper::Start(plan));
  FL_RETURN_IF_ERROR(Build(keeper.id(), plan, stop));
  const auto& missing = keeper.missing_settings();
  const LabState state = {
      .name = folder.name(),
      .source = source,
      .plan = plan,
      .health = CableHealth(plan.cables.size(), 1),
      .keeper = keeper.id(),
      .has_own_hash_seeds = std::find(missing.begin(), missing.end(), kHashSeedSetting) == missing.end()};
  // The state comes first: a lab without a record could not be taken down. Until the commit it names a process that
  // ends with this one.
  FL_RETURN_IF_ERROR(folder.Save(state));
  FL_RETURN_IF_ERROR(WriteFileAtomically(folder.HostsFile(), FormatHosts(plan)));
  FL_RETURN_IF_ERROR(keeper.Commit());
  return state;
}

}  // namespace

Result<LabState> BringUp(const LabFolder& folder, const std::string& source, const LabPlan& plan,
                         const std::atomic<bool>& stop) {
  if (const auto found = folder.LoadKeeper(); found.ok() && IsAlive(*found)) {
    return Status(
        StatusCode::kAlreadyExists,
        fmt::format("lab '{0}' is up (process {1}). Take it down first: fairlead lab down --name {0}; or give "
                    "this one another --name",
                    folder.name(), found->pid));
  }
  auto state = StartLab(folder, source, plan, stop);
  // Nor is a folder left; whatever went wrong with that, the first message matters more.
  if (!state.ok()) static_cast<void>(folder.Remove().ok());
  // Ctrl-C also ends the programs that were running.
  if (!state.ok() && stop) return Status(StatusCode::kCancelled, "stopped; nothing of the lab is left");
  return state;
}

Status TakeDown(const LabFolder& folder, bool* was_up) {
  *was_up = false;
  const auto keeper = folder.LoadKeeper();
  if (keeper.ok()) {
    *was_up = IsAlive(*keeper);
    FL_RETURN_IF_ERROR(EndKeeper(*keeper));
  } else if (keeper.status().code() != StatusCode::kNotFound) {
    return keeper.status();
  }
  return folder.Remove();
}

Status SetCableHealth(const LabFolder& folder, LabState* state, CableId cable, double health) {
  if (!IsAlive(state->keeper)) {
    return Unavailable(
        fmt::format("lab '{}' has ended. Clean up with: fairlead lab down --name {}", state->name, state->name));
  }
  const LabPlan& plan = state->plan;
  const bool was_up = state->health[cable] > 0;
  const LabRoutes before = ComputeRoutes(plan, state->health);
  const CableChange change{.at_s = SteadySeconds(), .cable = CableName(plan, cable), .end = {}, .health = health};
  if (health > 0) FL_RETURN_IF_ERROR(SetSpeed(state->keeper, plan, cable, health));
  state->health[cable] = health;
  if (was_up != (health > 0)) {
    FL_RETURN_IF_ERROR(SetCarrier(state->keeper, plan, cable, health > 0));
    FL_RETURN_IF_ERROR(NoteCableChange(folder.path(), change));
    FL_RETURN_IF_ERROR(folder.Save(*state));
    std::this_thread::sleep_for(std::chrono::milliseconds(plan.options.convergence_ms));
    LabRoutes in_force = before;
    // With its interface a host or switch has lost all routes that used no other; everything at the cable is configured
    // again.
    for (const CableEnd& end : plan.cables[cable].ends) in_force[end.node] = NodeRoutes();
    FL_RETURN_IF_ERROR(ChangeRoutes(state->keeper, plan, in_force, ComputeRoutes(plan, state->health)));
  } else {
    FL_RETURN_IF_ERROR(NoteCableChange(folder.path(), change));
  }
  return folder.Save(*state);
}

Status SetEndSpeed(const LabState& state, CableId cable, size_t end, double share) {
  const CableEnd& at = state.plan.cables[cable].ends[end];
  return RunAll(state.keeper, state.plan, {{at.node, kTcBatch, SpeedCommand(state.plan, cable, at.interface, share)}});
}

Status SlowConnections(const LabState& state, CableId cable, size_t end, const ConnectionFilter& filter, double share) {
  const LabCable& wire = state.plan.cables[cable];
  const CableEnd& at = wire.ends[end];
  const std::string text = SlowConnectionCommands(filter, at.interface, wire.bits_per_s * share);
  return RunAll(state.keeper, state.plan, {{at.node, kTcBatch, text}});
}

Status EndSlowConnections(const LabState& state, CableId cable, size_t end) {
  const CableEnd& at = state.plan.cables[cable].ends[end];
  return RunAll(state.keeper, state.plan, {{at.node, kTcBatch, EndSlowConnectionCommands(at.interface)}});
}

}  // namespace fairlead::lab
