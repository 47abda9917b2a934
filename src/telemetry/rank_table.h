// Which rank of the job is which process, where files number ranks only within each communicator.
//
// Method      the largest communicator numbers the job; processes that are not in it follow, by host, process and GPU.
// Guarantees  the numbers do not depend on the order of Add(). Members without any report: those of the largest
//             communicator keep their rank, on an unknown host; in other communicators they are left out.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

// What holds a rank.
struct RankProcess {
  std::string host;
  uint64_t pid = 0;
  int64_t gpu = -1;  // -1: unknown, the process has one

  friend auto operator<=>(const RankProcess&, const RankProcess&) = default;
};

class RankTable {
 public:
  // `communicator` is its unique name, `size` its number of ranks, `rank` that of the process. Adding the same again is
  // fine. Errors: kInvalidArgument for what contradicts what was added before, and for sizes and ranks out of range.
  Status Add(const std::string& communicator, uint64_t size, uint64_t rank, const RankProcess& process);

  // After all Add(): fills layout, host names and notes.
  void Number(Recording* recording);

  // Of what was added, after Number().
  model::RankId RankOf(const RankProcess& process) const { return ranks_.at(process); }
  model::CommunicatorId CommunicatorOf(const std::string& name) const { return communicators_.at(name).id; }
  // Invalid for members without any report.
  model::RankId MemberOf(const std::string& communicator, uint64_t rank) const;

 private:
  struct Members {
    uint64_t size = 0;
    std::map<uint64_t, RankProcess> processes;  // [rank of the communicator]
    std::map<RankProcess, uint64_t> ranks;
    model::CommunicatorId id;
  };

  std::vector<std::string> LargestFirst() const;
  void NumberRanks(const std::string& largest, Recording* recording);
  void PlaceRanks(Recording* recording) const;
  void AddCommunicator(const std::string& name, Recording* recording);

  std::map<std::string, Members> communicators_;
  std::map<RankProcess, model::RankId> ranks_;
};

}  // namespace fairlead::telemetry
