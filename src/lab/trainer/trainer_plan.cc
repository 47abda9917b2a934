#include "lab/trainer/trainer_plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

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

Json ToJson(const PhasePlan& phase) {
  Json streams = Json::array();
  for (const StreamPlan& stream : phase.streams) {
    streams.push_back({{"parts", stream.parts},
                       {"lead", stream.lead},
                       {"sends", ToJson(stream.sends)},
                       {"receives", ToJson(stream.receives)}});
  }
  return {{"name", phase.name},
          {"start_fraction", phase.start_fraction},
          {"blocks_compute", phase.blocks_compute},
          {"local_s", phase.local_s},
          {"streams", std::move(streams)}};
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
                             .sends = TransfersFromJson(stream.at("sends")),
                             .receives = TransfersFromJson(stream.at("receives"))});
  }
  return phase;
}

// The first thing that is wrong, or nothing.
std::string FindMistake(const TrainerPlan& plan) {
  if (!(plan.compute_s >= 0 && plan.start_s >= 0)) return "times must not be negative";
  if (plan.num_gpus == 0 || !(plan.work_flop >= 0)) return "num_gpus and work_flop must not be negative, or no GPU";
  if (plan.worker >= plan.num_workers) return "worker must be below num_workers";
  if (plan.compute_s == 0 && plan.phases.empty()) return "an iteration without compute and phases takes no time";
  double last_fraction = 0;
  std::set<uint32_t> used;
  for (const PhasePlan& phase : plan.phases) {
    if (!(phase.start_fraction >= last_fraction && phase.start_fraction <= 1)) {
      return "start_fraction must lie in [0, 1] and not decrease";
    }
    if (!(phase.local_s >= 0)) return "local_s must not be negative";
    last_fraction = phase.start_fraction;
    used.clear();
    for (const StreamPlan& stream : phase.streams) {
      if (stream.lead == 0 || stream.lead > stream.parts) return "lead must lie in [1, parts]";
      for (const bool outgoing : {true, false}) {
        for (const TransferPlan& transfer : outgoing ? stream.sends : stream.receives) {
          if (transfer.connection >= plan.connections.size()) return "a transfer names no connection";
          if (plan.connections[transfer.connection].is_outgoing != outgoing) return "a transfer goes the wrong way";
          if (transfer.bytes == 0) return "a transfer has no bytes";
          if (!used.insert(transfer.connection).second) return "a connection has two transfers in one phase";
        }
      }
    }
  }
  return "";
}

}  // namespace

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
               {"connections", Json::array()},
               {"phases", Json::array()}};
  for (const ConnectionPlan& c : plan.connections) {
    json["connections"].push_back({{"id", c.id},
                                   {"peer", c.peer},
                                   {"outgoing", c.is_outgoing},
                                   {"from", c.from},
                                   {"to", c.to},
                                   {"port", c.port}});
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
                     .connections = {},
                     .phases = {}};
    for (const Json& c : json.at("connections")) {
      plan.connections.push_back({.id = c.at("id"),
                                  .peer = c.at("peer"),
                                  .is_outgoing = c.at("outgoing"),
                                  .from = c.at("from"),
                                  .to = c.at("to"),
                                  .port = c.at("port")});
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
