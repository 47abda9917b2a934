// Runs that Slurm believes in, and of which no process is left.
//
// Problem     a slurmd that is killed with the order to start a job has forgotten it, and slurmctld, or one that has
//             forgotten the end of a run, goes on to believe that the job runs: until a node registers next. That took
//             longer than four minutes (22.05.8). Its hosts are lost for as long.
// Method      a run is lost if the agents of all of its hosts tell which jobs Slurm has processes of there
//             (service/agent/slurm_jobs.h), and none of them tells this one, at each look for long enough. A job that
//             begins has no process either while a Prolog is at work: that is its reason meanwhile, and does not count.
// Thread      one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "slurm/cluster_state.h"

namespace fairlead::slurm {

struct LostRun {
  uint32_t job = 0;
  SimTime since;         // nobody has seen a process of it
  bool is_news = false;  // it was not returned before
};

class LostRuns {
 public:
  // Args: lost_after: > 0. Longer: hosts are lost for longer. Shorter: one that a busy slurmd takes long to start is
  // taken for lost.
  explicit LostRuns(SimDuration lost_after) : lost_after_(lost_after) {}

  // By job. Args: processes: [host] jobs of which there are processes; of hosts that are missing nothing is known.
  std::vector<LostRun> Look(const std::vector<Job>& jobs, const std::map<std::string, std::set<uint32_t>>& processes,
                            SimTime now);
  // Nobody could look for a while: what was seen before does not count.
  void Forget() { suspects_.clear(); }

 private:
  struct Suspect {
    uint32_t num_restarts = 0;  // of the run
    std::vector<std::string> hosts;
    SimTime since;
    bool is_told = false;
  };

  const SimDuration lost_after_;
  std::map<uint32_t, Suspect> suspects_;  // [job]
};

// "Slurm says that it runs on h[0-1], and for 180 s no process of it was seen there".
std::string WordsOfLostRun(const LostRun& run, const Job& job, SimTime now);

}  // namespace fairlead::slurm
