#include "sim/hosts/virtual_controller.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "traffic/path_service_registry.h"

namespace fairlead::sim::hosts {

using controller::TrafficOutput;

namespace {

// As the daemon's (service/streams/controller_loop.h).
constexpr SimDuration kTick(200'000'000);
constexpr SimDuration kDiagnosisTick(250'000'000);

}  // namespace

VirtualController::VirtualController(uint64_t seed, const VirtualControllerOptions& options, Surroundings surroundings)
    : options_(options),
      surroundings_(std::move(surroundings)),
      random_(seed),
      policy_(traffic::CreateLevelPolicy(options.policy)) {
  options_.paths.chooses_paths = options.policy.chooses_paths;
  options_.traffic.sets_levels = options.policy.sets_levels;
}

void VirtualController::Start() {
  FL_CHECK(!is_alive());
  ++incarnation_;
  is_stopped_ = false;
  is_pump_scheduled_ = false;
  death_ = DeathAtWrite::kNone;
  inbox_.clear();
  outputs_.clear();
  options_.paths.epoch_base = incarnation_ << 32;
  paths_ = traffic::CreatePathService(surroundings_.network->fabric(), options_.paths);
  core_ = std::make_unique<controller::TrafficController>(
      surroundings_.network->fabric(), surroundings_.network->addresses(), *paths_, *policy_, options_.traffic);
  std::vector<std::pair<std::string, std::string>> records(store_.begin(), store_.end());
  if (surroundings_.sabotage == Sabotage::kLostRecords) records.clear();
  FL_CHECK(core_->Restore(records).ok());
  Tick();
  if (options_.diagnosis.has_value()) StartDiagnosis();
}

void VirtualController::StartDiagnosis() {
  VirtualDiagnosis::Records records;
  for (const auto& [key, value] : store_) {
    if (key.starts_with(controller::KeptSteering::kPrefix)) records[key] = value;
  }
  steady_offset_ = clock_offset_;
  diagnosis_ = std::make_unique<VirtualDiagnosis>(
      queue().now() + steady_offset_, *options_.diagnosis, records,
      VirtualDiagnosis::Surroundings{
          .fabric = &surroundings_.network->fabric(),
          .sabotage = surroundings_.sabotage,
          .keep = [this](const VirtualDiagnosis::Records& changed) { return KeepSteering(changed); },
          .begin = surroundings_.begin,
          .take_outcomes = surroundings_.take_outcomes,
          .outcomes_kept = surroundings_.outcomes_kept,
          .judge =
              [this](HostId host, const controller::HostJudged& judged) {
                Deliver(controller::JudgementChanged{host, judged});
              },
          .ask = [this](const controller::SlowEndQuestion& question) { Deliver(question); },
          .note =
              [this](const controller::AuditEntry& entry) {
                queue().Log([&] {
                  const auto* action = std::get_if<controller::SteeringAction>(&entry.what);
                  return "steering: " + (action == nullptr
                                             ? "an outcome came"
                                             : controller::Describe(action->step, diagnosis_->steering().names()) +
                                                   ": " + action->reason);
                });
              }});
  TickDiagnosis();
}

void VirtualController::TickDiagnosis() {
  queue().After(kDiagnosisTick, [this, mine = incarnation_] {
    if (!is_alive() || incarnation_ != mine) return;
    if (!is_stopped_) diagnosis_->Tick(queue().now() + steady_offset_);
    TickDiagnosis();
  });
}

bool VirtualController::Dies(DeathAtWrite when) {
  if (death_ != when) return false;
  death_ = DeathAtWrite::kNone;
  surroundings_.died();
  return true;
}

bool VirtualController::KeepSteering(const VirtualDiagnosis::Records& records) {
  if (is_store_full_ || Dies(DeathAtWrite::kBefore)) return false;
  std::erase_if(store_, [](const auto& record) { return record.first.starts_with(controller::KeptSteering::kPrefix); });
  store_.insert(records.begin(), records.end());
  return !Dies(DeathAtWrite::kAfter);
}

void VirtualController::Kill() {
  diagnosis_.reset();
  core_.reset();
  paths_.reset();
  is_stopped_ = false;
}

void VirtualController::Continue() {
  if (!is_alive() || !std::exchange(is_stopped_, false)) return;
  SchedulePump();
}

void VirtualController::Deliver(controller::TrafficInput input) {
  if (!is_alive()) return;
  inbox_.push_back(std::move(input));
  SchedulePump();
}

void VirtualController::Tick() {
  queue().After(kTick, [this, mine = incarnation_] {
    if (!is_alive() || incarnation_ != mine) return;
    SchedulePump();
    Tick();
  });
}

// Inputs that come closely together make one batch.
void VirtualController::SchedulePump() {
  if (is_stopped_ || std::exchange(is_pump_scheduled_, true)) return;
  queue().After(SimDuration(static_cast<int64_t>(20'000 + random_.Below(1'000'000))), [this, mine = incarnation_] {
    if (!is_alive() || incarnation_ != mine) return;
    is_pump_scheduled_ = false;
    if (!is_stopped_) Pump();
  });
}

void VirtualController::Pump() {
  if (!outputs_.empty() && !CarryOut()) return;
  const std::vector<controller::TrafficInput> inputs = std::exchange(inbox_, {});
  outputs_ = core_->Handle(queue().now() + clock_offset_, inputs);
  CarryOut();
}

bool VirtualController::CarryOut() {
  const bool has_records = std::ranges::any_of(
      outputs_, [](const TrafficOutput& output) { return std::holds_alternative<controller::RecordChanged>(output); });
  if (has_records && is_store_full_) return false;
  if (has_records && Dies(DeathAtWrite::kBefore)) return false;
  for (const TrafficOutput& output : outputs_) {
    const auto* record = std::get_if<controller::RecordChanged>(&output);
    if (record == nullptr) continue;
    if (record->value.has_value()) {
      store_[record->key] = *record->value;
    } else {
      store_.erase(record->key);
    }
  }
  if (has_records && Dies(DeathAtWrite::kAfter)) return false;
  Send();
  outputs_.clear();
  return true;
}

void VirtualController::Send() {
  for (const TrafficOutput& output : outputs_) {
    if (const auto* sent = std::get_if<controller::SendToStream>(&output)) {
      surroundings_.send(sent->stream, sent->message);
    } else if (const auto* ended = std::get_if<controller::EndStream>(&output)) {
      surroundings_.end(ended->stream);
    } else if (const auto* looked = std::get_if<controller::ProcessesLooked>(&output)) {
      if (diagnosis_ != nullptr) diagnosis_->Take(*looked);
    } else if (const auto* answered = std::get_if<controller::HostsAnswered>(&output)) {
      if (diagnosis_ != nullptr) diagnosis_->Take(*answered);
    } else if (const auto* answer = std::get_if<controller::SlowEndAnswer>(&output)) {
      if (diagnosis_ != nullptr) diagnosis_->Take(*answer);
    } else if (const auto* noted = std::get_if<controller::Noted>(&output)) {
      queue().Log([&] { return "controller: " + noted->subject + ": " + noted->text; });
    }
  }
}

}  // namespace fairlead::sim::hosts
