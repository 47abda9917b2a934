#include "lab/lab_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/json_archive.h"

namespace fairlead::lab {

namespace {

// Raised whenever the form changes: a lab of another version can only be taken down.
constexpr uint64_t kFormat = 3;

// What is the same in all versions.
struct StateHeader {
  uint64_t format = kFormat;
  KeeperId keeper;
};

template <class Archive, codec::IsRecord<StateHeader> Record>
void Describe(Archive& archive, Record& header) {
  archive.Required("format", header.format);
  archive.Required("keeper", header.keeper);
}

}  // namespace
}  // namespace fairlead::lab

template <>
inline constexpr uint64_t fairlead::codec::kNumEnumerators<fairlead::lab::NodeRole> =
    static_cast<uint64_t>(fairlead::lab::NodeRole::kCore) + 1;

namespace fairlead::lab {

template <class Archive, codec::IsRecord<KeeperId> Record>
void Describe(Archive& archive, Record& keeper) {
  archive.Required("pid", keeper.pid);
  archive.Required("start_ticks", keeper.start_ticks);
  archive.Required("boot_id", keeper.boot_id);
  archive.Required("has_user_namespace", keeper.has_user_namespace);
  archive.Required("namespaces", keeper.namespaces);
}

// Which cables and NICs a node has follows from those.
template <class Archive, codec::IsRecord<LabNode> Record>
void Describe(Archive& archive, Record& node) {
  archive.Required("name", node.name);
  archive.Required("role", node.role);
  archive.Required("hash_seed", node.hash_seed);
}

template <class Archive, codec::IsRecord<LabNic> Record>
void Describe(Archive& archive, Record& nic) {
  archive.Required("host", nic.host);
  archive.Required("address", nic.address);
}

template <class Archive, codec::IsRecord<CableEnd> Record>
void Describe(Archive& archive, Record& end) {
  archive.Required("node", end.node);
  archive.Required("interface", end.interface);
  archive.Required("address", end.address);
}

template <class Archive, codec::IsRecord<LabCable> Record>
void Describe(Archive& archive, Record& cable) {
  archive.Required("ends", cable.ends);
  archive.Required("bits_per_s", cable.bits_per_s);
  archive.Optional("nic", cable.nic);
}

template <class Archive, codec::IsRecord<LabOptions> Record>
void Describe(Archive& archive, Record& options) {
  archive.Required("scale", options.scale);
  archive.Required("hash_seed", options.hash_seed);
  archive.Required("queues_per_level", options.queues_per_level);
  archive.Required("convergence_ms", options.convergence_ms);
}

template <class Archive, codec::IsRecord<LabState> Record>
void Describe(Archive& archive, Record& state) {
  archive.Required("name", state.name);
  archive.Required("source", state.source);
  archive.Required("has_own_hash_seeds", state.has_own_hash_seeds);
  archive.Required("health", state.health.raw());
  archive.Required("options", state.plan.options);
  archive.Required("nodes", state.plan.nodes.raw());
  archive.Required("nics", state.plan.nics.raw());
  archive.Required("cables", state.plan.cables.raw());
}

namespace {

// Gives nodes and NICs the cables that name them. False: one names what is not there.
bool Connect(LabPlan* plan) {
  const auto is_node = [&](LabNodeId node) { return node.valid() && node.index() < plan->nodes.size(); };
  for (size_t i = 0; i < plan->nics.size(); ++i) {
    const LabNodeId host = plan->nics[NicId(i)].host;
    if (!is_node(host)) return false;
    plan->nodes[host].nics.emplace_back(i);
  }
  for (size_t i = 0; i < plan->cables.size(); ++i) {
    const LabCable& cable = plan->cables[CableId(i)];
    for (const CableEnd& end : cable.ends) {
      if (!is_node(end.node)) return false;
      plan->nodes[end.node].cables.emplace_back(i);
    }
    if (!cable.nic.valid()) continue;
    if (cable.nic.index() >= plan->nics.size()) return false;
    plan->nics[cable.nic].cables.emplace_back(i);
  }
  return true;
}

}  // namespace

std::string WriteLabState(const LabState& state) {
  codec::Json json = codec::ToJson(state);
  json.update(codec::ToJson(StateHeader{.format = kFormat, .keeper = state.keeper}));
  return json.dump() + "\n";
}

Result<LabState> ReadLabState(std::string_view text, const std::string& path) {
  const auto damaged = [&path](std::string_view what) {
    return InvalidArgument(fmt::format("{}: is no state of a lab: {}", path, what));
  };
  FL_ASSIGN_OR_RETURN(const codec::Json json, codec::ParseJson(text, path));
  StateHeader header;
  std::string error = codec::ReadValue(json, codec::UnknownKeys::kIgnored, &header);
  if (!error.empty()) return damaged(codec::WithoutJoint(error));
  if (header.format != kFormat) {
    return InvalidArgument(fmt::format("{}: written by another version of Fairlead (format {}, expected {})", path,
                                       header.format, kFormat));
  }
  LabState state;
  error = codec::ReadValue(json, codec::UnknownKeys::kIgnored, &state);
  if (!error.empty()) return damaged(codec::WithoutJoint(error));
  state.keeper = std::move(header.keeper);
  if (state.health.size() != state.plan.cables.size() ||
      state.keeper.namespaces.size() != state.plan.nodes.size() + 1) {
    return damaged("its lists differ in length");
  }
  if (!Connect(&state.plan)) return damaged("a cable or NIC is of a node that is not there");
  return state;
}

Result<KeeperId> ReadKeeperOf(std::string_view text, const std::string& path) {
  FL_ASSIGN_OR_RETURN(const codec::Json json, codec::ParseJson(text, path));
  StateHeader header;
  const std::string error = codec::ReadValue(json, codec::UnknownKeys::kIgnored, &header);
  if (error.empty()) return std::move(header.keeper);
  return InvalidArgument(fmt::format("{}: names no process of a lab: {}", path, codec::WithoutJoint(error)));
}

}  // namespace fairlead::lab
