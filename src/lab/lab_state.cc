#include "lab/lab_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fairlead::lab {

namespace {

// Raised whenever the form changes: a lab of another version can only be taken down.
constexpr int kFormat = 1;

// Ids that don't exist are written as -1.
template <class IdType>
int64_t ToNumber(IdType id) {
  return id.valid() ? int64_t{id.value()} : -1;
}

template <class IdType>
IdType ToId(const nlohmann::ordered_json& json) {
  const int64_t number = json.get<int64_t>();
  return number < 0 ? IdType() : IdType(static_cast<uint32_t>(number));
}

nlohmann::ordered_json ToJson(const LabPlan& plan) {
  nlohmann::ordered_json json = {{"scale", plan.options.scale},
                                 {"hash_seed", plan.options.hash_seed},
                                 {"queues_per_level", plan.options.queues_per_level},
                                 {"convergence_ms", plan.options.convergence_ms},
                                 {"nodes", nlohmann::ordered_json::array()},
                                 {"nics", nlohmann::ordered_json::array()},
                                 {"cables", nlohmann::ordered_json::array()}};
  for (const LabNode& node : plan.nodes) {
    json["nodes"].push_back({node.name, static_cast<int>(node.role), node.hash_seed});
  }
  for (const LabNic& nic : plan.nics) json["nics"].push_back({ToNumber(nic.host), nic.address});
  for (const LabCable& cable : plan.cables) {
    nlohmann::ordered_json entry = {cable.bits_per_s, ToNumber(cable.nic)};
    for (const CableEnd& end : cable.ends) entry.push_back({ToNumber(end.node), end.interface, end.address});
    json["cables"].push_back(std::move(entry));
  }
  return json;
}

// The parser's exceptions end in the functions that Result<> is returned by.
KeeperId KeeperFromJson(const nlohmann::ordered_json& json) {
  return {.pid = json.at("pid"),
          .start_ticks = json.at("start_ticks"),
          .boot_id = json.at("boot_id"),
          .has_user_namespace = json.at("has_user_namespace"),
          .namespaces = json.at("namespaces").get<std::vector<int>>()};
}

LabPlan PlanFromJson(const nlohmann::ordered_json& json) {
  LabPlan plan;
  plan.options = {.scale = json.at("scale"),
                  .hash_seed = json.at("hash_seed"),
                  .queues_per_level = json.at("queues_per_level"),
                  .convergence_ms = json.at("convergence_ms")};
  for (const nlohmann::ordered_json& entry : json.at("nodes")) {
    plan.nodes.push_back({.name = entry.at(0),
                          .role = static_cast<NodeRole>(entry.at(1).get<int>()),
                          .hash_seed = entry.at(2),
                          .cables = {},
                          .nics = {}});
  }
  for (const nlohmann::ordered_json& entry : json.at("nics")) {
    const auto host = ToId<LabNodeId>(entry.at(0));
    plan.nodes.raw().at(host.index()).nics.push_back(NicId(plan.nics.size()));
    plan.nics.push_back({.host = host, .address = entry.at(1), .cables = {}});
  }
  for (const nlohmann::ordered_json& entry : json.at("cables")) {
    const CableId id(plan.cables.size());
    LabCable cable;
    cable.bits_per_s = entry.at(0);
    cable.nic = ToId<NicId>(entry.at(1));
    for (size_t i = 0; i < 2; ++i) {
      const nlohmann::ordered_json& end = entry.at(2 + i);
      cable.ends[i] = {.node = ToId<LabNodeId>(end.at(0)), .interface = end.at(1), .address = end.at(2)};
      plan.nodes.raw().at(cable.ends[i].node.index()).cables.push_back(id);
    }
    if (cable.nic.valid()) plan.nics.raw().at(cable.nic.index()).cables.push_back(id);
    plan.cables.push_back(std::move(cable));
  }
  return plan;
}

}  // namespace

std::string WriteLabState(const LabState& state) {
  const nlohmann::ordered_json json = {{"format", kFormat},
                                       {"name", state.name},
                                       {"source", state.source},
                                       {"keeper",
                                        {{"pid", state.keeper.pid},
                                         {"start_ticks", state.keeper.start_ticks},
                                         {"boot_id", state.keeper.boot_id},
                                         {"has_user_namespace", state.keeper.has_user_namespace},
                                         {"namespaces", state.keeper.namespaces}}},
                                       {"has_own_hash_seeds", state.has_own_hash_seeds},
                                       {"health", state.health.raw()},
                                       {"plan", ToJson(state.plan)}};
  return json.dump() + "\n";
}

Result<LabState> ReadLabState(std::string_view text, const std::string& path) {
  try {
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
    if (json.at("format") != kFormat) {
      return InvalidArgument(fmt::format("{}: written by another version of Fairlead (format {}, expected {})", path,
                                         json.at("format").dump(), kFormat));
    }
    LabState state;
    state.name = json.at("name");
    state.source = json.at("source");
    state.keeper = KeeperFromJson(json.at("keeper"));
    state.has_own_hash_seeds = json.at("has_own_hash_seeds");
    state.health.raw() = json.at("health").get<std::vector<double>>();
    state.plan = PlanFromJson(json.at("plan"));
    if (state.health.size() != state.plan.cables.size() || state.keeper.namespaces.size() != state.plan.nodes.size()) {
      return InvalidArgument(fmt::format("{}: is damaged: its lists differ in length", path));
    }
    return state;
  } catch (const std::exception& error) {
    return InvalidArgument(fmt::format("{}: is no state of a lab: {}", path, error.what()));
  }
}

Result<KeeperId> ReadKeeperOf(std::string_view text, const std::string& path) {
  try {
    return KeeperFromJson(nlohmann::ordered_json::parse(text).at("keeper"));
  } catch (const std::exception& error) {
    return InvalidArgument(fmt::format("{}: names no process of a lab: {}", path, error.what()));
  }
}

}  // namespace fairlead::lab
