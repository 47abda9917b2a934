#include "lab/lab_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/disjoint_sets.h"
#include "base/random.h"

namespace fairlead::lab {

namespace {

// NCCL's name of the collective that a phase is; empty: it is sends and receives.
std::string FunctionOf(std::string_view phase) {
  static constexpr std::pair<std::string_view, const char*> kFunctions[] = {{"all-reduce", "AllReduce"},
                                                                            {"all-gather", "AllGather"},
                                                                            {"reduce-scatter", "ReduceScatter"},
                                                                            {"broadcast", "Broadcast"}};
  for (const auto& [part, function] : kFunctions) {
    if (phase.find(part) != std::string_view::npos) return function;
  }
  return "";
}

uint32_t RankOf(const std::vector<size_t>& members, size_t worker) {
  return static_cast<uint32_t>(std::ranges::lower_bound(members, worker) - members.begin());
}

}  // namespace

void OperationPlanner::AddPhase(const std::string& name, const std::vector<HostFlow>& flows,
                                const std::vector<TrainerPlan*>& plans) {
  if (FunctionOf(name).empty()) return AddTransfers(name, flows, plans);
  AddCollectives(name, flows, plans);
}

void OperationPlanner::AddCollectives(const std::string& name, const std::vector<HostFlow>& flows,
                                      const std::vector<TrainerPlan*>& plans) {
  std::map<uint32_t, std::set<size_t>> hosts_of_group;
  for (const HostFlow& flow : flows) hosts_of_group[flow.group].insert({flow.sender, flow.receiver});
  std::map<Members, std::vector<const HostFlow*>> collectives;
  for (const HostFlow& flow : flows) {
    const std::set<size_t>& hosts = hosts_of_group[flow.group];
    collectives[Members(hosts.begin(), hosts.end())].push_back(&flow);
  }
  for (const auto& [members, own] : collectives) {
    Communicator& communicator = CommunicatorOf(members, name, plans);
    const std::string function = FunctionOf(name);
    uint64_t moved = 0;
    for (const HostFlow* flow : own) moved += flow->bytes;
    const uint64_t passes = function == "AllReduce" ? 2 : 1;
    OperationPlan operation{
        .function = function, .bytes = std::max<uint64_t>(1, moved / (passes * (members.size() - 1))), .channels = {}};
    std::map<size_t, OperationPlan> of_worker;
    for (const size_t worker : members) {
      operation.communicator = communicator.place_in_plan[worker];
      of_worker[worker] = operation;
    }
    for (const HostFlow* flow : own) {
      const uint32_t channel = ChannelOf(*flow, &communicator);
      AddChannel(*flow, true, channel, members, &of_worker[flow->sender]);
      AddChannel(*flow, false, channel, members, &of_worker[flow->receiver]);
    }
    for (auto& [worker, planned] : of_worker) plans[worker]->phases.back().operations.push_back(std::move(planned));
  }
}

void OperationPlanner::AddTransfers(const std::string& name, const std::vector<HostFlow>& flows,
                                    const std::vector<TrainerPlan*>& plans) {
  DisjointSets sets(plans.size());
  for (const HostFlow& flow : flows) {
    sets.Join(static_cast<uint32_t>(flow.sender), static_cast<uint32_t>(flow.receiver));
  }
  std::map<uint32_t, Members> members_of;
  for (uint32_t w = 0; w < plans.size(); ++w) members_of[sets.Find(w)].push_back(w);
  std::map<std::pair<size_t, size_t>, std::vector<const HostFlow*>> pairs;
  for (const HostFlow& flow : flows) pairs[{flow.sender, flow.receiver}].push_back(&flow);
  for (const auto& [pair, own] : pairs) {
    const auto& [sender, receiver] = pair;
    const Members& members = members_of[sets.Find(static_cast<uint32_t>(sender))];
    Communicator& communicator = CommunicatorOf(members, name, plans);
    OperationPlan send{.communicator = communicator.place_in_plan[sender],
                       .function = "Send",
                       .peer = static_cast<int32_t>(RankOf(members, receiver)),
                       .channels = {}};
    OperationPlan receive{.communicator = communicator.place_in_plan[receiver],
                          .function = "Recv",
                          .peer = static_cast<int32_t>(RankOf(members, sender)),
                          .channels = {}};
    for (const HostFlow* flow : own) {
      const uint32_t channel = ChannelOf(*flow, &communicator);
      AddChannel(*flow, true, channel, members, &send);
      AddChannel(*flow, false, channel, members, &receive);
      send.bytes += flow->bytes;
    }
    receive.bytes = send.bytes;
    plans[sender]->phases.back().operations.push_back(std::move(send));
    plans[receiver]->phases.back().operations.push_back(std::move(receive));
  }
}

OperationPlanner::Communicator& OperationPlanner::CommunicatorOf(const Members& members, const std::string& phase,
                                                                 const std::vector<TrainerPlan*>& plans) {
  const auto [found, is_new] = communicators_.try_emplace(members);
  Communicator& communicator = found->second;
  if (!is_new) return communicator;
  uint64_t id = CombineHash(0, job_.size());
  for (const char c : job_) id = CombineHash(id, static_cast<unsigned char>(c));
  for (const size_t worker : members) id = CombineHash(id, worker);
  communicator.id = id;
  communicator.name = fmt::format("{} {}", phase, communicators_.size() - 1);
  CommunicatorPlan plan{.id = communicator.id, .name = communicator.name, .workers = {}};
  for (const size_t worker : members) plan.workers.push_back(static_cast<uint32_t>(worker));
  for (const size_t worker : members) {
    communicator.place_in_plan[worker] = static_cast<uint32_t>(plans[worker]->communicators.size());
    plans[worker]->communicators.push_back(plan);
  }
  return communicator;
}

uint32_t OperationPlanner::ChannelOf(const HostFlow& flow, Communicator* communicator) {
  auto& channels = communicator->channels[{flow.sender, flow.receiver}];
  const auto number = static_cast<uint32_t>(channels.size());
  return channels.try_emplace({flow.source, flow.destination, flow.number}, number).first->second % kNumChannels;
}

void OperationPlanner::AddChannel(const HostFlow& flow, bool is_send, uint32_t channel, const Members& members,
                                  OperationPlan* operation) {
  const uint32_t peer = RankOf(members, is_send ? flow.receiver : flow.sender);
  const std::vector<uint32_t>& connections = is_send ? flow.at_sender : flow.at_receiver;
  for (ChannelPlan& known : operation->channels) {
    if (known.peer != peer || known.channel != channel || known.is_send != is_send) continue;
    known.connections.insert(known.connections.end(), connections.begin(), connections.end());
    return;
  }
  operation->channels.push_back({.peer = peer, .channel = channel, .is_send = is_send, .connections = connections});
}

}  // namespace fairlead::lab
