#include "telemetry/rank_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::telemetry {

Status RankTable::Add(const std::string& communicator, uint64_t size, uint64_t rank, const RankProcess& process) {
  const auto fail = [&](const std::string& what) {
    return InvalidArgument(fmt::format("communicator {}: {}", communicator.substr(0, 60), what));
  };
  if (size == 0 || size > kNumImportedRanksMax) {
    return fail(fmt::format("expected 1 to {} ranks, found {}", kNumImportedRanksMax, size));
  }
  if (rank >= size) return fail(fmt::format("has {} ranks and none with number {}", size, rank));
  Members& members = communicators_[communicator];
  if (members.size == 0) members.size = size;
  if (members.size != size) {
    return fail(fmt::format("has {} ranks here and {} elsewhere; are the files of one job?", size, members.size));
  }
  const auto process_of = members.processes.emplace(rank, process).first;
  if (process_of->second != process) {
    return fail(fmt::format("rank {} is process {} of {} and process {} of {}; are the files of one run?", rank,
                            process_of->second.pid, process_of->second.host, process.pid, process.host));
  }
  const auto rank_of = members.ranks.emplace(process, rank).first;
  if (rank_of->second != rank) {
    return fail(fmt::format("process {} of {} holds ranks {} and {}; only one GPU per process is supported here",
                            process.pid, process.host, rank_of->second, rank));
  }
  return OkStatus();
}

std::vector<std::string> RankTable::LargestFirst() const {
  std::vector<std::string> names;
  for (const auto& [name, members] : communicators_) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [this](const std::string& a, const std::string& b) {
    return communicators_.at(a).size > communicators_.at(b).size;
  });
  return names;
}

void RankTable::Number(Recording* recording) {
  recording->layout.job = JobId(0);
  const std::vector<std::string> names = LargestFirst();
  if (names.empty()) return;
  NumberRanks(names.front(), recording);
  PlaceRanks(recording);
  for (const std::string& name : names) AddCommunicator(name, recording);
}

void RankTable::NumberRanks(const std::string& largest, Recording* recording) {
  const Members& world = communicators_[largest];
  for (const auto& [rank, process] : world.processes) ranks_[process] = model::RankId(static_cast<uint32_t>(rank));
  uint64_t num_ranks = world.size;
  for (const auto& [name, members] : communicators_) {
    for (const auto& [process, rank] : members.ranks) ranks_.try_emplace(process);
  }
  // In order of the processes, not of the communicators.
  for (auto& [process, rank] : ranks_) {
    if (!rank.valid()) rank = model::RankId(static_cast<uint32_t>(num_ranks++));
  }
  recording->layout.ranks.resize(num_ranks);
  if (num_ranks > world.size) {
    recording->notes.push_back(fmt::format(
        "No communicator has all ranks: ranks 0 to {} are those of {}, the other {} follow by host and process.",
        world.size - 1, largest, num_ranks - world.size));
  }
}

void RankTable::PlaceRanks(Recording* recording) const {
  std::map<std::string, HostId> hosts;
  std::map<HostId, uint32_t> num_gpus;
  std::vector<model::RankPlace>& places = recording->layout.ranks;
  const auto add_host = [recording](const std::string& name) {
    recording->host_names.push_back(name);
    return HostId(recording->host_names.size() - 1);
  };
  for (const auto& [process, rank] : ranks_) {
    const auto [host, is_new] = hosts.try_emplace(process.host);
    if (is_new) host->second = add_host(process.host);
    model::RankPlace& place = places[rank.index()];
    place.host = host->second;
    const uint32_t index = num_gpus[place.host]++;
    place.gpu = process.gpu >= 0 ? static_cast<uint32_t>(process.gpu) : index;
  }
  std::vector<uint32_t> unknown;
  for (uint32_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank].host.valid()) continue;
    unknown.push_back(rank);
    places[rank].host = add_host(fmt::format("host of rank {}", rank));
  }
  if (!unknown.empty()) {
    recording->notes.push_back(
        fmt::format("Nothing is known of rank {}: it wrote nothing, or its file was not given.", ListNumbers(unknown)));
  }
}

void RankTable::AddCommunicator(const std::string& name, Recording* recording) {
  Members& members = communicators_[name];
  members.id = model::CommunicatorId(recording->layout.communicators.size());
  model::Communicator communicator;
  communicator.name = name;
  const bool is_largest = members.id.index() == 0;
  for (uint64_t rank = 0; is_largest && rank < members.size; ++rank) {
    communicator.ranks.emplace_back(static_cast<uint32_t>(rank));
  }
  if (!is_largest) {
    for (const auto& [rank, process] : members.processes) communicator.ranks.push_back(ranks_.at(process));
  }
  recording->layout.communicators.push_back(std::move(communicator));
}

model::RankId RankTable::MemberOf(const std::string& communicator, uint64_t rank) const {
  const Members& members = communicators_.at(communicator);
  const auto process = members.processes.find(rank);
  return process == members.processes.end() ? model::RankId() : ranks_.at(process->second);
}

}  // namespace fairlead::telemetry
