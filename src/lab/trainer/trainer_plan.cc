#include "lab/trainer/trainer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace fairlead::lab {

namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::vector<TransferPlan>& transfers) {
  Json json = Json::array();
  for (const TransferPlan& transfer : transfers) json.push_back({transfer.connection, transfer.bytes});
  return json;
}

std::vector<TransferPlan> TransfersFromJson(const Json& json) {
  std::vector<TransferPlan> transfers;
  for (const Json& entry : json) transfers.push_back({.connection = entry.at(0), .bytes = entry.at(1)});
  return transfers;
}

Json ToJson(const OperationPlan& operation) {
  Json channels = Json::array();
  for (const ChannelPlan& channel : operation.channels) {
    channels.push_back({{"peer", channel.peer},
                        {"channel", channel.channel},
                        {"is_send", channel.is_send},
                        {"connections", channel.connections}});
  }
  return {{"communicator", operation.communicator},
          {"function", operation.function},
          {"bytes", operation.bytes},
          {"peer", operation.peer},
          {"channels", std::move(channels)}};
}

OperationPlan OperationFromJson(const Json& json) {
  OperationPlan operation{.communicator = json.at("communicator"),
                          .function = json.at("function"),
                          .bytes = json.at("bytes"),
                          .peer = json.at("peer"),
                          .channels = {}};
  for (const Json& channel : json.at("channels")) {
    operation.channels.push_back({.peer = channel.at("peer"),
                                  .channel = channel.at("channel"),
                                  .is_send = channel.at("is_send"),
                                  .connections = channel.at("connections").get<std::vector<uint32_t>>()});
  }
  return operation;
}

Json ToJson(const PhasePlan& phase) {
  Json streams = Json::array();
  for (const StreamPlan& stream : phase.streams) {
    streams.push_back({{"parts", stream.parts},
                       {"lead", stream.lead},
                       {"pools", stream.pools},
                       {"sends", ToJson(stream.sends)},
                       {"receives", ToJson(stream.receives)}});
  }
  Json operations = Json::array();
  for (const OperationPlan& operation : phase.operations) operations.push_back(ToJson(operation));
  return {
      {"name", phase.name},       {"start_fraction", phase.start_fraction}, {"blocks_compute", phase.blocks_compute},
      {"local_s", phase.local_s}, {"streams", std::move(streams)},          {"operations", std::move(operations)}};
}

PhasePlan PhaseFromJson(const Json& json) {
  PhasePlan phase{.name = json.at("name"),
                  .start_fraction = json.at("start_fraction"),
                  .blocks_compute = json.at("blocks_compute"),
                  .local_s = json.at("local_s"),
                  .streams = {}};
  for (const Json& stream : json.at("streams")) {
    phase.streams.push_back({.parts = stream.at("parts"),
                             .lead = stream.at("lead"),
                             .pools = stream.value("pools", false),
                             .sends = TransfersFromJson(stream.at("sends")),
                             .receives = TransfersFromJson(stream.at("receives"))});
  }
  for (const Json& operation : json.value("operations", Json::array())) {
    phase.operations.push_back(OperationFromJson(operation));
  }
  return phase;
}

// Finds the first thing that is wrong with the phases of a plan.
class PhaseCheck {
 public:
  explicit PhaseCheck(const TrainerPlan& plan) : plan_(plan) {}

  // Empty: nothing is wrong.
  std::string FindMistake() {
    double last_fraction = 0;
    for (const PhasePlan& phase : plan_.phases) {
      if (!(phase.start_fraction >= last_fraction && phase.start_fraction <= 1)) {
        return "start_fraction must lie in [0, 1] and not decrease";
      }
      if (!(phase.local_s >= 0)) return "local_s must not be negative";
      last_fraction = phase.start_fraction;
      used_.clear();
      for (const StreamPlan& stream : phase.streams) {
        if (stream.lead == 0 || stream.lead > stream.parts) return "lead must lie in [1, parts]";
        for (const bool outgoing : {true, false}) {
          const auto& transfers = outgoing ? stream.sends : stream.receives;
          std::string mistake = FindIn(transfers, outgoing, stream.pools);
          if (mistake.empty() && stream.pools) mistake = FindInPools(transfers);
          if (!mistake.empty()) return mistake;
        }
      }
    }
    return "";
  }

 private:
  std::string FindIn(const std::vector<TransferPlan>& transfers, bool outgoing, bool pools) {
    for (const TransferPlan& transfer : transfers) {
      if (transfer.connection >= plan_.connections.size()) return "a transfer names no connection";
      if (plan_.connections[transfer.connection].is_outgoing != outgoing) return "a transfer goes the wrong way";
      if (transfer.bytes == 0) return "a transfer has no bytes";
      if (!used_.insert(transfer.connection).second) return "a connection has two transfers in one phase";
      if (shares_.emplace(transfer.connection, pools).first->second != pools) {
        return "a connection shares its bytes in one phase and not in another";
      }
    }
    return "";
  }

  std::string FindInPools(const std::vector<TransferPlan>& transfers) const {
    for (const Pool& pool : PoolsOf(plan_.connections, transfers, true)) {
      for (const uint32_t c : pool.connections) {
        if (plan_.connections[c].peer != plan_.connections[pool.connections[0]].peer) {
          return "connections that share their bytes lead to different workers";
        }
      }
    }
    return "";
  }

  const TrainerPlan& plan_;
  std::set<uint32_t> used_;          // connections, in the phase
  std::map<uint32_t, bool> shares_;  // [connection] whether it shares its bytes, once it is known
};

// Finds the first error in the operations of a plan with correct phases.
class OperationCheck {
 public:
  explicit OperationCheck(const TrainerPlan& plan) : plan_(plan) {}

  // Empty: nothing is wrong.
  std::string FindMistake() {
    for (const CommunicatorPlan& communicator : plan_.communicators) {
      const auto& workers = communicator.workers;
      if (workers.size() < 2 || !std::ranges::binary_search(workers, plan_.worker)) {
        return "a communicator must have this worker and another one, in ascending order";
      }
    }
    for (const PhasePlan& phase : plan_.phases) {
      used_.clear();
      for (const OperationPlan& operation : phase.operations) {
        std::string mistake = FindIn(operation);
        for (const ChannelPlan& channel : operation.channels) {
          if (mistake.empty()) mistake = FindIn(phase, plan_.communicators[operation.communicator], channel);
        }
        if (!mistake.empty()) return mistake;
      }
    }
    return "";
  }

 private:
  std::string FindIn(const OperationPlan& operation) const {
    static constexpr std::string_view kFunctions[] = {"AllReduce", "AllGather", "ReduceScatter",
                                                      "Broadcast", "Send",      "Recv"};
    if (operation.communicator >= plan_.communicators.size()) return "an operation names no communicator";
    if (std::ranges::find(kFunctions, operation.function) == std::end(kFunctions)) {
      return fmt::format("function '{}' is none of {}", operation.function, fmt::join(kFunctions, ", "));
    }
    const auto size = static_cast<int64_t>(plan_.communicators[operation.communicator].workers.size());
    const bool has_peer = operation.peer >= 0 && operation.peer < size;
    const bool needs_peer = operation.function == "Send" || operation.function == "Recv";
    if (has_peer != needs_peer) return "sends and receives must have a peer, collectives none";
    return "";
  }

  std::string FindIn(const PhasePlan& phase, const CommunicatorPlan& communicator, const ChannelPlan& channel) {
    if (channel.peer >= communicator.workers.size() || channel.channel >= kNumChannels || channel.connections.empty()) {
      return "a channel has no such peer, too high a number, or no connections";
    }
    const std::set<uint32_t> own(channel.connections.begin(), channel.connections.end());
    size_t num_found = 0;
    for (const StreamPlan& stream : phase.streams) {
      for (const Pool& pool :
           PoolsOf(plan_.connections, channel.is_send ? stream.sends : stream.receives, stream.pools)) {
        const auto is_own = [&](uint32_t c) { return own.contains(c); };
        const auto in_pool = std::ranges::count_if(pool.connections, is_own);
        if (in_pool != 0 && in_pool != std::ssize(pool.connections)) return "a channel has a part of a pool";
        num_found += static_cast<size_t>(in_pool);
      }
    }
    if (num_found != channel.connections.size()) return "a channel has a connection that carries nothing its way";
    for (const uint32_t c : channel.connections) {
      if (plan_.connections[c].peer != communicator.workers[channel.peer]) return "a channel leads to another worker";
      if (!used_.insert(c).second) return "a connection is in two channels of a phase";
    }
    return "";
  }

  const TrainerPlan& plan_;
  std::set<uint32_t> used_;  // connections, in the phase
};

// The first thing that is wrong, or nothing.
std::string FindMistake(const TrainerPlan& plan) {
  if (!(plan.compute_s >= 0 && plan.start_s >= 0)) return "times must not be negative";
  if (plan.num_gpus == 0 || !(plan.work_flop >= 0)) return "num_gpus and work_flop must not be negative, or no GPU";
  if (plan.worker >= plan.num_workers) return "worker must be below num_workers";
  if (plan.compute_s == 0 && plan.phases.empty()) return "an iteration without compute and phases takes no time";
  const std::string mistake = PhaseCheck(plan).FindMistake();
  return mistake.empty() ? OperationCheck(plan).FindMistake() : mistake;
}

}  // namespace

std::vector<Pool> PoolsOf(const std::vector<ConnectionPlan>& connections, const std::vector<TransferPlan>& transfers,
                          bool pools) {
  std::vector<Pool> result;
  std::map<std::pair<std::string_view, std::string_view>, size_t> known;  // (sender's NIC, receiver's) -> pool
  for (const TransferPlan& transfer : transfers) {
    const ConnectionPlan& c = connections[transfer.connection];
    const size_t at = pools ? known.try_emplace({c.from, c.to}, result.size()).first->second : result.size();
    if (at == result.size()) result.emplace_back();
    result[at].bytes += transfer.bytes;
    result[at].connections.push_back(transfer.connection);
  }
  return result;
}

std::string WriteTrainerPlan(const TrainerPlan& plan) {
  Json json = {{"job", plan.job},
               {"worker", plan.worker},
               {"num_workers", plan.num_workers},
               {"num_gpus", plan.num_gpus},
               {"work_flop", plan.work_flop},
               {"compute_s", plan.compute_s},
               {"start_s", plan.start_s},
               {"iterations", plan.iterations},
               {"listen_port", plan.listen_port},
               {"listen_addresses", plan.listen_addresses},
               {"checkpoint", plan.checkpoint},
               {"checkpoint_every", plan.checkpoint_every},
               {"connections", Json::array()},
               {"communicators", Json::array()},
               {"phases", Json::array()}};
  for (const ConnectionPlan& c : plan.connections) {
    json["connections"].push_back({{"id", c.id},
                                   {"peer", c.peer},
                                   {"outgoing", c.is_outgoing},
                                   {"from", c.from},
                                   {"to", c.to},
                                   {"port", c.port}});
  }
  for (const CommunicatorPlan& c : plan.communicators) {
    json["communicators"].push_back({{"id", c.id}, {"name", c.name}, {"workers", c.workers}});
  }
  for (const PhasePlan& phase : plan.phases) json["phases"].push_back(ToJson(phase));
  return json.dump(1) + "\n";
}

Result<TrainerPlan> ReadTrainerPlan(std::string_view text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
    TrainerPlan plan{.job = json.at("job"),
                     .worker = json.at("worker"),
                     .num_workers = json.at("num_workers"),
                     .num_gpus = json.at("num_gpus"),
                     .work_flop = json.at("work_flop"),
                     .compute_s = json.at("compute_s"),
                     .start_s = json.at("start_s"),
                     .iterations = json.at("iterations"),
                     .listen_port = json.at("listen_port"),
                     .listen_addresses = json.at("listen_addresses").get<std::vector<std::string>>(),
                     .checkpoint = json.value("checkpoint", ""),
                     .checkpoint_every = json.value("checkpoint_every", uint64_t{0}),
                     .connections = {},
                     .communicators = {},
                     .phases = {}};
    for (const Json& c : json.at("connections")) {
      plan.connections.push_back({.id = c.at("id"),
                                  .peer = c.at("peer"),
                                  .is_outgoing = c.at("outgoing"),
                                  .from = c.at("from"),
                                  .to = c.at("to"),
                                  .port = c.at("port")});
    }
    for (const Json& c : json.value("communicators", Json::array())) {
      plan.communicators.push_back(
          {.id = c.at("id"), .name = c.at("name"), .workers = c.at("workers").get<std::vector<uint32_t>>()});
    }
    for (const Json& phase : json.at("phases")) plan.phases.push_back(PhaseFromJson(phase));
    const std::string mistake = FindMistake(plan);
    if (!mistake.empty()) return InvalidArgument(fmt::format("{}: {}", path, mistake));
    return plan;
  } catch (const std::exception& error) {
    return InvalidArgument(fmt::format("{}: is no plan of a trainer: {}", path, error.what()));
  }
}

}  // namespace fairlead::lab
