// What carries out the actions of steering in a chaotic world, and watches over them: a scheduler that takes its time,
// fails now and then, and forgets nothing.
//
// Laws        only a host on which something of the job has broken is isolated, and only such a job is stopped or
//             restarted; not one that has started again since, and has been well for a while. Where somebody lies,
//             his host may be isolated, and jobs that it is part of be touched; where somebody poses as another, his
//             own job
//             an action whose outcome was recorded does not begin again
//             a job is restarted on hosts that are not isolated, and on spares that no other job has
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "controller/steering_events.h"
#include "sim/chaos/virtual_jobs.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/violation.h"

namespace fairlead::sim::chaos {

class VirtualScheduler {
 public:
  struct Surroundings {
    hosts::EventQueue* queue = nullptr;
    VirtualJobs* jobs = nullptr;
    std::function<void(hosts::Violation)> violate;
    // Whether a host may lie about itself, and about jobs that it is part of.
    std::function<bool(uint32_t)> is_hostile;
    // Whether there are, or were, processes of the impostor, whose jobs are none of VirtualJobs.
    std::function<bool(uint32_t)> has_impostors;
    // Whether nothing comes from the agent of a host.
    std::function<bool(uint32_t)> is_away;
  };

  // Args: calm_at: from then on no attempt fails.
  VirtualScheduler(uint64_t seed, SimTime calm_at, Surroundings surroundings);

  // As of controller::ActionBackend; names: of the controller that begins it.
  void Begin(const controller::SteeringAction& action, const controller::SteeringNames& names);
  std::vector<controller::SteeringEvent> TakeOutcomes();
  // The controller has recorded what it was told.
  void OutcomesKept();
  // Programs under way end with their process, done or not; what they would have said is lost.
  void ControllerDied();

  const std::set<uint32_t>& isolated() const { return isolated_; }
  uint64_t num_isolated() const { return num_isolated_; }    // ever
  uint64_t num_restarted() const { return num_restarted_; }  // jobs, ever

 private:
  using Step = controller::SteeringStep;

  void Run(const controller::SteeringAction& action, const std::string& job);
  void Check(const controller::SteeringAction& action, const std::string& job, const std::string& text);
  void CheckGuilt(const std::string& job, std::optional<uint32_t> host, const std::string& text);
  bool IsImpostors(const std::string& job) const;
  bool HasHostile(const std::string& job) const;
  void CheckNeed(const std::string& job, const std::string& text);
  void CheckRestart(const std::string& job, const controller::RestartJob& restart, const std::string& text);
  void Do(const Step& step, const std::string& job);
  void Violate(std::string law, std::string text);

  Random random_;
  SimTime calm_at_;
  Surroundings surroundings_;
  uint64_t controller_ = 0;  // number of the process
  // [number of an action] Whose program runs: a later attempt that waits for its end, if there is one.
  std::map<uint64_t, std::optional<controller::SteeringAction>> busy_;
  std::set<uint32_t> isolated_;
  std::map<uint32_t, std::string> spares_;  // given to jobs
  std::vector<controller::SteeringEvent> outcomes_;
  std::set<uint64_t> reported_;  // numbers of actions that succeeded, as the controller was told
  std::set<uint64_t> recorded_;  // of them, those that it has recorded
  uint64_t num_isolated_ = 0;
  uint64_t num_restarted_ = 0;
};

}  // namespace fairlead::sim::chaos
