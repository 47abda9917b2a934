#include "workload/chakra_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::workload {

using Ranks = std::vector<uint32_t>;

Result<std::optional<Ranks>> FindMembers(const ChakraTrace& trace, const ChakraNode& node) {
  const auto found = trace.groups.find(node.group);
  if (found == trace.groups.end()) {
    if (node.group.empty() || node.group == "0") return std::optional<Ranks>();
    return InvalidArgument(
        fmt::format("{}: node {} uses the process group '{}', which nothing describes; expected a "
                    "process_group:init node, or a file PREFIX.json with the ranks of each group",
                    trace.name, node.id, node.group.substr(0, 40)));
  }
  if (found->second.empty()) return std::optional<Ranks>();
  Ranks members = found->second;
  std::sort(members.begin(), members.end());
  const bool is_distinct = std::adjacent_find(members.begin(), members.end()) == members.end();
  if (is_distinct && std::binary_search(members.begin(), members.end(), trace.rank))
    return std::optional<Ranks>(members);
  return InvalidArgument(fmt::format("{}: node {}: expected the process group '{}' to name rank {} and every rank once",
                                     trace.name, node.id, node.group.substr(0, 40), trace.rank));
}

Bytes BufferBytes(collective::CollectiveKind kind, Bytes comm_size, double num_members) {
  return kind == collective::CollectiveKind::kHierarchicalAllGather ? comm_size * num_members : comm_size;
}

void LeftOut::Add(const ChakraTrace& trace) {
  num_memory_nodes += trace.num_memory_nodes;
  num_host_nodes += trace.num_host_nodes;
  host_time += trace.host_time;
  num_barriers += trace.num_barriers;
}

void LeftOut::AddNotes(std::vector<std::string>& notes) const {
  if (num_memory_nodes > 0) notes.push_back(fmt::format("{} memory nodes take no time", num_memory_nodes));
  if (num_host_nodes > 0) {
    notes.push_back(fmt::format("{} host operations ({:.3g} s in all) take no time: the host is taken to be ahead",
                                num_host_nodes, host_time.value()));
  }
  if (num_barriers > 0) notes.push_back(fmt::format("{} barriers move no bytes", num_barriers));
}

}  // namespace fairlead::workload
