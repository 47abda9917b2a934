// For tests: the ranks of a job of real NCCL as processes of this machine, each on a host of its own as far as NCCL and
// Fairlead know.
#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace fairlead::nccl_host {

// FAIRLEAD_NCCL_ALL=1 runs what takes minutes, too; all_versions.sh sets it.
inline bool RunsAll() { return std::getenv("FAIRLEAD_NCCL_ALL") != nullptr; }
inline constexpr const char* kWhySkipped = "takes minutes: FAIRLEAD_NCCL_ALL=1 runs it";

struct RankProcessesOptions {
  std::string program;                 // name of a program of this folder
  std::vector<std::string> arguments;  // behind the folder where ranks meet
  int num_ranks = 2;
  // Of NCCL and of the plugin, beyond those that make it run here.
  std::map<std::string, std::string> environment;
  bool is_profiled = true;  // loads Fairlead's plugin
  // While the file slow-sends-RANK is there, that rank's sockets send no more bytes a second than the number in it.
  bool can_send_slowly = false;
};

class RankProcesses {
 public:
  explicit RankProcesses(const RankProcessesOptions& options);
  // Kills those that still run.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  int num_ranks() const { return static_cast<int>(ranks_.size()); }
  pid_t pid(int rank) const { return ranks_[Index(rank)].pid; }
  // Where ranks meet, and leave what they have to say.
  std::string File(const std::string& name) const { return folder_.File(name); }
  // Of a host: its processes' segments.
  std::string SegmentsOf(int rank) const;
  std::string SegmentPath(int rank) const;

  void Signal(int rank, int number) const;
  // Until each rank has made the file NAME-RANK. Returns: false: one has ended, or it took minutes.
  bool WaitForFiles(const std::string& name);
  // Ends the standard input of all, and waits for their ends. Returns: whether all ended with 0.
  bool LetEnd();
  // What they have printed, for messages of failures.
  std::string Outputs() const;

 private:
  struct Rank {
    pid_t pid = 0;
    int input = -1;   // the end that is written to
    int status = -1;  // of waitpid, once it has ended
  };
  static size_t Index(int rank) { return static_cast<size_t>(rank); }
  Rank Start(const RankProcessesOptions& options, int rank);
  bool HasEnded(Rank* rank);

  TemporaryFolder folder_;
  std::vector<Rank> ranks_;
};

}  // namespace fairlead::nccl_host
