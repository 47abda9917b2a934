#include "lab/trainer/trainer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "codec/json_archive.h"

namespace fairlead::lab {

template <class Archive, codec::IsRecord<ConnectionPlan> Record>
void Describe(Archive& archive, Record& connection) {
  archive.Required("id", connection.id);
  archive.Required("peer", connection.peer);
  archive.Required("outgoing", connection.is_outgoing);
  archive.Required("from", connection.from);
  archive.Required("to", connection.to);
  archive.Required("port", connection.port);
}

template <class Archive, codec::IsRecord<TransferPlan> Record>
void Describe(Archive& archive, Record& transfer) {
  archive.Required("connection", transfer.connection);
  archive.Required("bytes", transfer.bytes);
}

template <class Archive, codec::IsRecord<StreamPlan> Record>
void Describe(Archive& archive, Record& stream) {
  archive.Required("parts", stream.parts);
  archive.Required("lead", stream.lead);
  archive.Optional("pools", stream.pools);
  archive.Required("sends", stream.sends);
  archive.Required("receives", stream.receives);
}

template <class Archive, codec::IsRecord<CommunicatorPlan> Record>
void Describe(Archive& archive, Record& communicator) {
  archive.Required("id", communicator.id);
  archive.Required("name", communicator.name);
  archive.Required("workers", communicator.workers);
}

template <class Archive, codec::IsRecord<ChannelPlan> Record>
void Describe(Archive& archive, Record& channel) {
  archive.Required("peer", channel.peer);
  archive.Required("channel", channel.channel);
  archive.Required("is_send", channel.is_send);
  archive.Required("connections", channel.connections);
}

template <class Archive, codec::IsRecord<OperationPlan> Record>
void Describe(Archive& archive, Record& operation) {
  archive.Required("communicator", operation.communicator);
  archive.Required("function", operation.function);
  archive.Required("bytes", operation.bytes);
  archive.Required("peer", operation.peer);
  archive.Required("channels", operation.channels);
}

template <class Archive, codec::IsRecord<PhasePlan> Record>
void Describe(Archive& archive, Record& phase) {
  archive.Required("name", phase.name);
  archive.Required("start_fraction", phase.start_fraction);
  archive.Required("blocks_compute", phase.blocks_compute);
  archive.Required("local_s", phase.local_s);
  archive.Required("streams", phase.streams);
  archive.Optional("operations", phase.operations);
}

template <class Archive, codec::IsRecord<TrainerPlan> Record>
void Describe(Archive& archive, Record& plan) {
  archive.Required("job", plan.job);
  archive.Required("worker", plan.worker);
  archive.Required("num_workers", plan.num_workers);
  archive.Required("num_gpus", plan.num_gpus);
  archive.Required("work_flop", plan.work_flop);
  archive.Required("compute_s", plan.compute_s);
  archive.Required("start_s", plan.start_s);
  archive.Required("iterations", plan.iterations);
  archive.Required("listen_port", plan.listen_port);
  archive.Required("listen_addresses", plan.listen_addresses);
  archive.Optional("checkpoint", plan.checkpoint);
  archive.Optional("checkpoint_every", plan.checkpoint_every);
  archive.Optional("progress", plan.progress);
  archive.Required("connections", plan.connections);
  archive.Optional("communicators", plan.communicators);
  archive.Required("phases", plan.phases);
}

namespace {

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

std::string WriteTrainerPlan(const TrainerPlan& plan) { return codec::ToJson(plan).dump(1) + "\n"; }

Result<TrainerPlan> ReadTrainerPlan(std::string_view text, const std::string& path) {
  FL_ASSIGN_OR_RETURN(const codec::Json json, codec::ParseJson(text, path));
  TrainerPlan plan;
  std::string error = codec::WithoutJoint(codec::ReadValue(json, codec::UnknownKeys::kIgnored, &plan));
  if (error.empty()) error = FindMistake(plan);
  if (!error.empty()) return InvalidArgument(fmt::format("{}: {}", path, error));
  return plan;
}

}  // namespace fairlead::lab
