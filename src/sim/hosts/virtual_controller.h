// The process of the controller in a simulated world: the real core (controller/traffic_controller.h) with a real path
// service and policy, and around it what its daemon does with inputs, store and streams, on virtual time; beside it
// diagnosis and steering (virtual_diagnosis.h), where they are wanted.
//
// Like the daemon it handles inputs in batches, saves a batch's records before it sends any of its messages, and takes
// nothing new while the store is full. It can be killed at any moment, also just before and just after it has saved.
//
// Size        one process: what it is made of, its disk and inbox, and how it is to fail.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "controller/traffic_controller.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/sabotage.h"
#include "sim/hosts/virtual_diagnosis.h"
#include "sim/hosts/virtual_network.h"
#include "traffic/c4p/c4p_options.h"
#include "traffic/live_policy.h"

namespace fairlead::sim::hosts {

// What it decides, and how.
struct VirtualControllerOptions {
  traffic::LivePolicy policy;
  traffic::c4p::C4pOptions paths;
  controller::TrafficControllerOptions traffic;
  // Nothing: looks at processes are dropped.
  std::optional<VirtualDiagnosisOptions> diagnosis = std::nullopt;
};

enum class DeathAtWrite : uint8_t { kNone, kBefore, kAfter };

class VirtualController {
 public:
  struct Surroundings {
    EventQueue* queue = nullptr;
    const VirtualNetwork* network = nullptr;
    Sabotage sabotage = Sabotage::kNone;
    std::function<void(controller::StreamId, controller::ToAgent)> send;
    std::function<void(controller::StreamId)> end;  // a stream, after all that was sent on it
    std::function<void()> died;                     // at a write
    // With `diagnosis`: carries actions out, and what has come of it (VirtualDiagnosis::Surroundings).
    std::function<void(const controller::SteeringAction&, const controller::SteeringNames&)> begin = nullptr;
    std::function<std::vector<controller::SteeringEvent>(SimTime)> take_outcomes = nullptr;
    std::function<void()> outcomes_kept = nullptr;
  };

  VirtualController(uint64_t seed, const VirtualControllerOptions& options, Surroundings surroundings);

  bool is_alive() const { return core_ != nullptr; }
  bool is_running() const { return is_alive() && !is_stopped_; }
  uint64_t incarnation() const { return incarnation_; }
  const controller::TrafficController& core() const { return *core_; }
  // With `diagnosis`, while it is alive.
  const VirtualDiagnosis& diagnosis() const { return *diagnosis_; }

  void Start();
  void Kill();
  void Stop() { is_stopped_ = true; }
  void Continue();
  void SetStoreFull(bool is_full) { is_store_full_ = is_full; }
  // Dies at the next batch that has records.
  void DieAtWrite(DeathAtWrite when) { death_ = when; }
  // Its clock is ahead of virtual time by this.
  void SetClockOffset(SimDuration offset) { clock_offset_ = offset; }

  void Deliver(controller::TrafficInput input);

 private:
  void Tick();
  void TickDiagnosis();
  void StartDiagnosis();
  bool KeepSteering(const VirtualDiagnosis::Records& records);
  // At a write; the process is about to die.
  bool Dies(DeathAtWrite when);
  void SchedulePump();
  void Pump();
  // False: nothing was sent, or the process has died.
  bool CarryOut();
  void Send();
  EventQueue& queue() { return *surroundings_.queue; }

  VirtualControllerOptions options_;
  Surroundings surroundings_;
  Random random_;
  uint64_t incarnation_ = 0;
  std::unique_ptr<traffic::TrafficPolicy> policy_;
  std::unique_ptr<traffic::PathService> paths_;
  std::unique_ptr<controller::TrafficController> core_;
  std::unique_ptr<VirtualDiagnosis> diagnosis_;
  std::map<std::string, std::string> store_;
  std::vector<controller::TrafficInput> inbox_;
  std::vector<controller::TrafficOutput> outputs_;  // not carried out yet
  bool is_pump_scheduled_ = false;
  bool is_stopped_ = false;
  bool is_store_full_ = false;
  DeathAtWrite death_ = DeathAtWrite::kNone;
  SimDuration clock_offset_;
  SimDuration steady_offset_;  // as it was at the start, for what must not jump
};

}  // namespace fairlead::sim::hosts
