// Orders of steering that are under way, and what has come of them: between steering's thread, which gives them and
// takes outcomes, and the engine's, which carries them out in turns.
//
//     steering --> Put() --> [under way] --> Underway() --> a turn of each --> Take() --> [outcomes] --> TakeOutcomes()
//                                ^                            |
//                                '-------- not over yet ------'
//
// Guarantees  an order has one end. A newer attempt of the same action takes the place of an older one; what an older
//             one has come to is told all the same, under its own attempt.
// Thread      any: the mutex guards all that changes, and nothing is called while it is held. One thread waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "controller/steering_events.h"
#include "slurm/steering_steps.h"

namespace fairlead::slurm {

// Both > 0.
struct StepPatience {
  std::chrono::milliseconds long_steps{};  // restarts and tests
  std::chrono::milliseconds others{};
};

class StepOrders {
 public:
  using Clock = std::chrono::steady_clock;
  struct UnderwayStep {
    StepOrder order;
    Clock::time_point until;
    std::string message;  // of its last turn
  };
  struct Counts {
    uint64_t underway = 0;
    std::map<std::string, uint64_t> ended;  // [done, failed, refused]
  };

  explicit StepOrders(const StepPatience& patience) : patience_(patience) {}

  void Put(StepOrder order, Clock::time_point now);
  // What a turn of the order has come to: an outcome, or the message of one that is not over. An order that is still
  // under way when its patience is over has failed. Args: now: after the turn.
  void Take(const UnderwayStep& turn, StepProgress progress, Clock::time_point now);
  // News that follow from no order.
  void Report(std::vector<controller::SteeringEvent> events);
  std::vector<controller::SteeringEvent> TakeOutcomes();

  // By number of their action.
  std::vector<UnderwayStep> Underway() const;
  // What they are about: "job 7", "host h3"; and the jobs alone, 0 of one that is none of Slurm's.
  std::set<std::string> Subjects() const;
  std::set<uint32_t> Jobs() const;
  Counts counts() const;

  // Until there is one order more, or the time has come; whether there are orders is looked at once, at first. Returns
  // false when it is over.
  bool Wait(Clock::time_point until_if_none, Clock::time_point until_if_some);
  // It is over: wakes who waits.
  void Stop();
  bool is_over() const;

 private:
  const StepPatience patience_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // one more is under way, or it is over
  bool is_over_ = false;
  std::map<uint64_t, UnderwayStep> underway_;  // [number of an action]
  std::vector<controller::SteeringEvent> outcomes_;
  std::map<std::string, uint64_t> ended_;  // [done, failed, refused]
};

}  // namespace fairlead::slurm
