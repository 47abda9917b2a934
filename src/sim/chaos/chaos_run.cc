#include "sim/chaos/chaos_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/check_capture.h"
#include "diagnosis/c4d/c4d_diagnosis.h"
#include "sim/chaos/calm_laws.h"
#include "sim/chaos/chaos_fabric.h"
#include "sim/chaos/liar.h"
#include "sim/chaos/virtual_jobs.h"
#include "sim/chaos/virtual_scheduler.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/virtual_agent.h"
#include "sim/hosts/virtual_controller.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"
#include "sim/hosts/virtual_streams.h"
#include "topology/place_names.h"

namespace fairlead::sim::chaos {

namespace {

constexpr SimDuration kConvergence(200'000'000);
constexpr SimDuration kRestart(200'000'000);
constexpr int64_t kSlowness = 100;
// From a lie to what is done about it.
constexpr SimDuration kBelievedFor(60'000'000'000);
// From the last fault to the report of an operator: everything runs again.
constexpr SimDuration kRepair(5'000'000'000);
// From the last death of the controller: agents have announced; everything is as it stays.
constexpr SimDuration kAfterAnnouncements(3'000'000'000);
constexpr SimDuration kAfterDeath(17'000'000'000);

// Findings of a diagnosis that is deliberately wrong: each is about the next host.
class NeighbourBlamer final : public diagnosis::JobDiagnosis {
 public:
  NeighbourBlamer(std::unique_ptr<diagnosis::JobDiagnosis> right, uint32_t num_hosts)
      : right_(std::move(right)), num_hosts_(num_hosts) {}

  std::vector<model::Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) override {
    std::vector<model::Finding> findings = right_->Handle(now, records);
    for (model::Finding& finding : findings) {
      for (model::Culprit& culprit : finding.culprits) {
        if (culprit.host.valid()) culprit.host = HostId((culprit.host.value() + 1) % num_hosts_);
      }
    }
    return findings;
  }
  void NoteAnswer(SimTime now, HostId host) override { right_->NoteAnswer(now, host); }
  void ExcuseUntil(SimTime time) override { right_->ExcuseUntil(time); }
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const override { return right_->ProofOf(id); }
  bool HasCrashed(SimTime now) const override { return right_->HasCrashed(now); }

 private:
  std::unique_ptr<diagnosis::JobDiagnosis> right_;
  uint32_t num_hosts_;
};

uint32_t NumSpares(uint32_t num_hosts) { return num_hosts / 4; }

hosts::VirtualDiagnosisOptions DiagnosisOptions(const ChaosOptions& options, const topology::Fabric& fabric) {
  hosts::VirtualDiagnosisOptions diagnosis;
  diagnosis.make_diagnosis = diagnosis::c4d::DiagnoseByC4d({}, topology::NamePlaces(fabric));
  if (options.sabotage == hosts::Sabotage::kBlamedNeighbours) {
    diagnosis.make_diagnosis = [right = diagnosis.make_diagnosis, n = options.num_hosts](const std::string& job) {
      return std::make_unique<NeighbourBlamer>(right(job), n);
    };
  }
  controller::SteeringOptions& steering = diagnosis.steering.steering;
  steering.mode = controller::SteeringMode::kAct;
  steering.max_job_share_per_day = 1;
  steering.max_cluster_share_per_day = 1;
  steering.suspect_fabric_share = 0.5;
  steering.hold_off = SimDuration(5'000'000'000);
  steering.attempts.deadline = SimDuration(4'000'000'000);
  steering.attempts.restart_deadline = SimDuration(20'000'000'000);
  steering.attempts.test_deadline = SimDuration(4'000'000'000);
  steering.attempts.pause = SimDuration(500'000'000);
  for (uint32_t s = 1; s <= NumSpares(options.num_hosts); ++s) {
    diagnosis.steering.spares.insert(HostId(options.num_hosts - s));
  }
  return diagnosis;
}

// Terms are shorter than a cluster's, so that a minute of virtual time sees several of each.
hosts::VirtualControllerOptions ControllerOptions(const ChaosOptions& chaos, const topology::Fabric& fabric) {
  constexpr SimDuration kLeaseTtl(15'000'000'000);
  hosts::VirtualControllerOptions options;
  options.policy = {.name = "crux-levels on chosen paths", .decides = "both"};
  options.paths.lease_ttl = kLeaseTtl;
  options.paths.probe_period = SimDuration(1'000'000'000);
  options.paths.verify_period = SimDuration(5'000'000'000);
  options.paths.probes.max_probes_per_round = 64;
  options.traffic.version = "simulated";
  options.traffic.heartbeat_period = SimDuration(2'000'000'000);
  options.traffic.lease_ttl = kLeaseTtl;
  options.diagnosis = DiagnosisOptions(chaos, fabric);
  return options;
}

// Seeds of parts that must not follow from each other.
enum class Part : uint64_t { kNetwork, kKernel, kAgent, kController, kStreams, kJobs, kScheduler, kLiar, kFaults };

// All that a run consists of.
//
// Size        most members are the parts that it joins, each with a state of its own.
class World {
 public:
  explicit World(const ChaosOptions& options)
      : options_(options),
        random_(Seed(Part::kFaults, 0)),
        fabric_(MakeChaosFabric(options.num_hosts, options.num_nic_ports)),
        network_(fabric_, Seed(Part::kNetwork, 0)),
        kernels_(MakeKernels()),
        agents_(MakeAgents()),
        controller_(
            Seed(Part::kController, 0), ControllerOptions(options, fabric_),
            {.queue = &queue_,
             .network = &network_,
             .sabotage = options.sabotage,
             .send = [this](controller::StreamId id, controller::ToAgent m) { streams_.Send(id, std::move(m)); },
             .end = [this](controller::StreamId id) { streams_.EndByController(id); },
             .died = [this] { controller_dies_ = true; },
             .begin = [this](const auto& action, const auto& names) { scheduler_.Begin(action, names); },
             .take_outcomes = [this](SimTime) { return scheduler_.TakeOutcomes(); },
             .outcomes_kept = [this] { scheduler_.OutcomesKept(); }}),
        streams_(&queue_, Seed(Part::kStreams, 0), options.sabotage, agents_, &controller_),
        jobs_(Seed(Part::kJobs, 0),
              {.num_jobs = options.num_jobs,
               .num_spares = NumSpares(options.num_hosts),
               .calm_at = SimTime() + options.faulty_for},
              {.queue = &queue_,
               .network = &network_,
               .kernels = kernels_,
               .agents = agents_,
               .violate = [this](hosts::Violation violation) { Violate(std::move(violation)); },
               .is_hostile = [this](HostId host) { return IsHostile(host.value()); }}),
        scheduler_(Seed(Part::kScheduler, 0), SimTime() + options.faulty_for,
                   {.queue = &queue_,
                    .jobs = &jobs_,
                    .violate = [this](hosts::Violation violation) { Violate(std::move(violation)); },
                    .is_hostile = [this](uint32_t host) { return IsHostile(host); },
                    .has_impostors = [this](uint32_t host) { return standings_[host].had_impostors; },
                    .is_away = [this](uint32_t host) { return !agents_[host]->is_running(); }}),
        liar_(Seed(Part::kLiar, 0), {.network = &network_,
                                     .jobs = &jobs_,
                                     .now = [this] { return queue_.now(); },
                                     .connections =
                                         [this] {
                                           return controller_.is_alive() ? controller_.core().QueuePairs()
                                                                         : std::vector<controller::QueuePairOnFabric>();
                                         }}),
        standings_(options.num_hosts) {}

  ChaosResult Run() {
    const Status status = CatchFailedChecks([this] { RunAll(); });
    if (!status.ok()) Violate({queue_.now(), "no check of our own fails", status.message()});
    return {.violation = violation_,
            .hash = queue_.hash(),
            .num_events = queue_.num_run(),
            .num_opened = jobs_.connections().num_opened(),
            .num_moved = jobs_.connections().num_moved(),
            .num_isolated = scheduler_.num_isolated(),
            .num_restarted = scheduler_.num_restarted(),
            .simulated = queue_.now() - SimTime()};
  }

 private:
  void RunAll() {
    queue_.SetLog(options_.log);
    controller_.Start();
    for (uint32_t h = 0; h < options_.num_hosts; ++h) StartAgent(h);
    for (const Fault& fault : options_.faults) {
      queue_.At(fault.at, [this, fault] { Begin(fault); });
    }
    const SimTime calm = SimTime() + options_.faulty_for;
    queue_.At(calm, [this] { controller_.DieAtWrite(hosts::DeathAtWrite::kNone); });
    queue_.At(calm + kRepair, [this] { TakeOutCable(); });
    RunUntil(calm + options_.calm_for);
    if (violation_.has_value()) return;  // the run stopped there, before the cable was taken out
    if (!Accept(FindFaultInCalm(InCalm()))) return;
    const PathsInForce before = PathsOf(controller_.core());
    KillController(kRestart);
    // Later, new measurements may turn the order.
    RunUntil(queue_.now() + kAfterAnnouncements);
    if (!Accept(FindOtherLevel(before, PathsOf(controller_.core())))) return;
    RunUntil(queue_.now() + kAfterDeath);
    if (!Accept(FindFaultInCalm(InCalm()))) return;
    Accept(FindOtherPath(before, PathsOf(controller_.core())));
  }

  CalmSurroundings InCalm() const {
    return {network_, kernels_, agents_, controller_, jobs_, scheduler_, queue_.now(), *taken_out_};
  }

  // False: the run is over.
  bool Accept(std::optional<CalmFault> fault) {
    if (fault.has_value()) Violate({queue_.now(), std::move(fault->law), std::move(fault->text)});
    return !violation_.has_value();
  }

  void RunUntil(SimTime end) {
    queue_.RunUntil(end, [this] {
      if (std::exchange(controller_dies_, false)) KillController(SimDuration(1'000'000'000));
      return violation_.has_value();
    });
  }

  void Violate(hosts::Violation violation) {
    if (!violation_.has_value()) violation_ = std::move(violation);
  }

  uint64_t Seed(Part part, uint32_t number) const {
    return CombineHash(CombineHash(options_.seed, static_cast<uint64_t>(part)), number);
  }

  std::vector<std::unique_ptr<hosts::VirtualKernel>> MakeKernels() const {
    std::vector<std::unique_ptr<hosts::VirtualKernel>> kernels;
    for (uint32_t h = 0; h < options_.num_hosts; ++h) {
      kernels.push_back(std::make_unique<hosts::VirtualKernel>(Seed(Part::kKernel, h)));
    }
    return kernels;
  }

  std::vector<std::unique_ptr<hosts::VirtualAgent>> MakeAgents() {
    std::vector<std::unique_ptr<hosts::VirtualAgent>> agents;
    for (uint32_t h = 0; h < options_.num_hosts; ++h) {
      agents.push_back(std::make_unique<hosts::VirtualAgent>(
          HostId(h), Seed(Part::kAgent, h), hosts::VirtualAgent::Looking::kByItself,
          hosts::VirtualAgent::Surroundings{
              .queue = &queue_,
              .network = &network_,
              .kernel = kernels_[h].get(),
              .sabotage = options_.sabotage,
              .answer =
                  [this, h](const agent::AnswerProcess& answer) {
                    jobs_.connections().TakeAnswer(HostId(h), answer);
                    if (options_.sabotage == hosts::Sabotage::kRepeatedAnswers)
                      jobs_.connections().TakeAnswer(HostId(h), answer);
                  },
              .send = [this, h](controller::FromAgent message) { Send(h, std::move(message)); },
              .rules_changed = [this, h] { jobs_.connections().CheckPackets(HostId(h)); },
              .gpus_of = [this, h] { return jobs_.GpusOf(h); },
              .look = [this, h](SimTime since, SimDuration clock) { return Look(h, since, clock); }}));
    }
    return agents;
  }

  std::vector<telemetry::SeenProcess> Look(uint32_t host, SimTime since, SimDuration clock) {
    std::vector<telemetry::SeenProcess> seen = jobs_.Look(host, since, clock);
    for (uint32_t i = 0; i < standings_[host].num_impostors; ++i) {
      seen.push_back(liar_.Impostor());
      // The kernel says whose it is.
      seen.back().report.job += "@1001";
    }
    if (options_.sabotage == hosts::Sabotage::kHastyDeaths && !seen.empty() && streams_.IsBroken(host)) {
      seen.front().state = model::ProcessState::kGone;
      seen.front().exit.end = model::ProcessEnd::kBroken;
    }
    return seen;
  }

  void Send(uint32_t host, controller::FromAgent message) {
    if (auto* hello = std::get_if<controller::HostHello>(&message)) hello->protocol_version += standings_[host].version;
    streams_.Send(host, std::move(message));
  }

  bool IsHostile(uint32_t host) const { return queue_.now() < standings_[host].hostile_until; }

  // Some lies a second, and now and then very many.
  void Lie(uint32_t host, SimTime until) {
    if (until <= queue_.now()) {
      KillAgent(host, SimDuration());
      return;
    }
    for (uint64_t n = random_.Below(30) == 0 ? 200 : 1; n > 0; --n) Send(host, liar_.Lie(host));
    queue_.After(hosts::RandomMilliseconds(&random_, 20, 400), [this, host, until] { Lie(host, until); });
  }

  void SetVersion(uint32_t host, uint32_t newer) {
    standings_[host].version = newer;
    KillAgent(host, SimDuration());
  }

  // ---- Faults ----

  void StartAgent(uint32_t host) {
    if (agents_[host]->is_alive()) return;
    agents_[host]->Start();
    streams_.Connect(host);
  }

  void KillAgent(uint32_t host, SimDuration down_for) {
    if (!agents_[host]->is_alive()) return;
    agents_[host]->Kill();
    streams_.AgentDied(host);
    jobs_.connections().AgentDied(HostId(host));
    queue_.After(kRestart + down_for, [this, host] { StartAgent(host); });
  }

  void KillController(SimDuration down_for) {
    if (!controller_.is_alive()) return;
    queue_.Log([] { return "the controller is killed"; });
    controller_.Kill();
    scheduler_.ControllerDied();
    streams_.ControllerDied();
    queue_.After(down_for, [this] {
      if (!controller_.is_alive()) controller_.Start();
    });
  }

  void Begin(const Fault& fault) {
    queue_.Log([&] {
      return fmt::format("fault: {} {} for {:.3f} s", Name(fault.kind), fault.target, fault.lasts.seconds().value());
    });
    const uint32_t host = fault.target % options_.num_hosts;
    const LinkId cable = network_.cables()[fault.target % network_.cables().size()];
    switch (fault.kind) {
      case FaultKind::kStream:
        return streams_.Break(host);
      case FaultKind::kDelay:
        streams_.SetSlowness(host, kSlowness);
        return Later(fault, [this, host] { streams_.SetSlowness(host, 1); });
      case FaultKind::kAgent:
        return KillAgent(host, fault.lasts);
      case FaultKind::kController:
        return KillController(kRestart + fault.lasts);
      case FaultKind::kWrite:
        return controller_.DieAtWrite(fault.amount == 0 ? hosts::DeathAtWrite::kBefore : hosts::DeathAtWrite::kAfter);
      case FaultKind::kPause:
        agents_[host]->Stop();
        return Later(fault, [this, host] { agents_[host]->Continue(); });
      case FaultKind::kStall:
        controller_.Stop();
        return Later(fault, [this] { controller_.Continue(); });
      case FaultKind::kClock:
        // No clock shows a time before 1970.
        controller_.SetClockOffset(std::max(SimDuration(fault.amount), SimTime() - queue_.now()));
        return Later(fault, [this] { controller_.SetClockOffset(SimDuration()); });
      case FaultKind::kDisk:
        agents_[host]->SetDiskFull(true);
        return Later(fault, [this, host] { agents_[host]->SetDiskFull(false); });
      case FaultKind::kStore:
        controller_.SetStoreFull(true);
        return Later(fault, [this] { controller_.SetStoreFull(false); });
      case FaultKind::kRules:
        agents_[host]->SetKernelRefuses(true);
        return Later(fault, [this, host] { agents_[host]->SetKernelRefuses(false); });
      case FaultKind::kCable:
        SetCable(cable, false);
        return Later(fault, [this, cable] { SetCable(cable, true); });
      case FaultKind::kProcess:
        return jobs_.KillProcess(host);
      case FaultKind::kHost:
        jobs_.HostDied(host);
        KillAgent(host, fault.lasts);
        kernels_[host]->Reboot();
        return;
      case FaultKind::kHang:
        return jobs_.HangProcess(host);
      case FaultKind::kSkew:
        agents_[host]->SetClock(SimDuration(fault.amount));
        return Later(fault, [this, host] { agents_[host]->SetClock(SimDuration()); });
      case FaultKind::kLiar:
        standings_[host].hostile_until =
            std::max(standings_[host].hostile_until, queue_.now() + fault.lasts + kBelievedFor);
        return Lie(host, queue_.now() + fault.lasts);
      case FaultKind::kImpostor:
        standings_[host].num_impostors += 2;
        standings_[host].had_impostors = true;
        return Later(fault, [this, host] { standings_[host].num_impostors -= 2; });
      case FaultKind::kVersion:
        SetVersion(host, 1);
        return Later(fault, [this, host] { SetVersion(host, 0); });
    }
  }

  void Later(const Fault& fault, std::function<void()> undo) { queue_.After(fault.lasts, std::move(undo)); }

  // An operator reports a cable, which works, as down: the controller has to avoid it, now and after a restart.
  void TakeOutCable() {
    taken_out_ = network_.cables()[options_.seed % network_.cables().size()];
    for (const LinkId link : {*taken_out_, network_.fabric().reverse(*taken_out_)}) {
      controller_.Deliver(controller::LinkHealthReported{.link = link, .health = 0, .source = "operator"});
    }
  }

  void SetCable(LinkId cable, bool is_up) {
    network_.SetCable(cable, is_up);
    queue_.After(kConvergence, [this] { network_.Converge(); });
  }

  // Of a host, as far as faults have changed it.
  struct Standing {
    SimTime hostile_until;  // what is done about it by then may follow from its lies
    uint32_t version = 0;   // of its agent, less ours
    uint32_t num_impostors = 0;
    bool had_impostors = false;
  };

  const ChaosOptions options_;
  hosts::EventQueue queue_;
  Random random_;
  topology::Fabric fabric_;
  hosts::VirtualNetwork network_;
  std::vector<std::unique_ptr<hosts::VirtualKernel>> kernels_;  // [host]
  std::vector<std::unique_ptr<hosts::VirtualAgent>> agents_;    // [host]
  hosts::VirtualController controller_;
  hosts::VirtualStreams streams_;
  VirtualJobs jobs_;
  VirtualScheduler scheduler_;
  Liar liar_;
  std::vector<Standing> standings_;  // [host]
  bool controller_dies_ = false;
  std::optional<LinkId> taken_out_;
  std::optional<hosts::Violation> violation_;
};

}  // namespace

Status ChaosOptions::Validate() const {
  if (num_hosts < 2 || num_hosts > 64) {
    return InvalidArgument(fmt::format("hosts: expected 2 to 64, found {}", num_hosts));
  }
  if (num_nic_ports < 1 || num_nic_ports > 2) {
    return InvalidArgument(fmt::format("nic_ports: expected 1 or 2, found {}", num_nic_ports));
  }
  if (num_jobs > 64) return InvalidArgument(fmt::format("jobs: expected 0 to 64, found {}", num_jobs));
  if (faulty_for < SimDuration()) return InvalidArgument("faulty_for: expected 0 s or more");
  if (calm_for < SimDuration(30'000'000'000)) {
    return InvalidArgument("calm_for: expected at least 30 s, in which leases run out and probes find cables");
  }
  if (!std::ranges::is_sorted(faults, {}, &Fault::at)) return InvalidArgument("faults: expected ascending times");
  return OkStatus();
}

ChaosResult RunChaos(const ChaosOptions& options) { return World(options).Run(); }

}  // namespace fairlead::sim::chaos
