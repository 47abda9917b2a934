#include "lab/lab_counters.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/file_reader.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

std::string ReadNodeTexts() { return ReadFileIfThere("/proc/self/net/dev") + ReadFileIfThere("/proc/self/net/snmp"); }

// "Tcp: RtoAlgorithm … RetransSegs …", and below it the values.
uint64_t ReadRetransmissions(std::istringstream names, std::istringstream values) {
  std::string name;
  std::string value;
  while (names >> name && values >> value) {
    if (name == "RetransSegs") return std::stoull(value);
  }
  return 0;
}

}  // namespace

void AddNodeCounters(const LabPlan& plan, LabNodeId node, std::string_view text, LabCounters* counters) {
  std::map<std::string, EndCounters*> of_interface;
  for (const CableId cable : plan.nodes[node].cables) {
    const size_t end = EndAt(plan, cable, node);
    of_interface[plan.cables[cable].ends[end].interface] = &counters->cables[cable][end];
  }
  std::istringstream lines{std::string(text)};
  std::string tcp_names;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Tcp:")) {
      if (!tcp_names.empty()) {
        counters->retransmitted_segments[node] =
            ReadRetransmissions(std::istringstream(tcp_names), std::istringstream(line));
      }
      tcp_names = line;
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const auto found = of_interface.find(line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')));
    if (found == of_interface.end()) continue;
    // Eight numbers of what was received, then bytes and packets of what was sent.
    std::istringstream fields(line.substr(colon + 1));
    uint64_t ignored = 0;
    for (int i = 0; i < 8; ++i) fields >> ignored;
    fields >> found->second->sent_bytes >> found->second->sent_packets;
  }
}

Result<LabCounters> ReadCounters(const LabState& state) {
  const LabPlan& plan = state.plan;
  if (!IsAlive(state.keeper)) {
    return Unavailable(fmt::format("lab '{0}' has ended. Clean up with: fairlead lab down --name {0}", state.name));
  }
  FL_ASSIGN_OR_RETURN(const auto texts, LookAtNodes(state.keeper, plan.nodes.size(), ReadNodeTexts));
  LabCounters counters{.cables = {}, .retransmitted_segments = IdVector<LabNodeId, uint64_t>(plan.nodes.size())};
  counters.cables.resize(plan.cables.size());
  for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    AddNodeCounters(plan, node, texts[node.index()], &counters);
  }
  return counters;
}

}  // namespace fairlead::lab
