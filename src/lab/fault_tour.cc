#include "lab/fault_tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/steady_seconds.h"
#include "lab/fault_verdict.h"
#include "model/finding.h"

namespace fairlead::lab {

namespace {

// From a finding to the first iteration of the next run: steps of steering, start of the processes.
constexpr double kRestartPatience = 30;
// From mending a fault to the next iteration; what was lost on cables is sent again after seconds.
constexpr double kGoOnPatience = 60;
// A layout of the job settles for 5 s, and two operations of each communicator make it warm.
constexpr double kWarmSeconds = 8;
// Slowness is measured against two healthy windows of 10 s.
constexpr double kBaselineSeconds = 28;
// Longer than it takes to confirm a hang.
constexpr double kPauseSeconds = 25;
// Of an iteration: before each of its communication phases; at its begin.
constexpr double kBusyShare = 0.4;
constexpr double kLoaderShare = 0.8;

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool IsSlow(LabFaultKind kind) {
  switch (kind) {
    case LabFaultKind::kSlowSend:
    case LabFaultKind::kSlowReceive:
    case LabFaultKind::kSlowConnection:
    case LabFaultKind::kBusyRank:
    case LabFaultKind::kSlowLoader:
      return true;
    default:
      return false;
  }
}

bool Restarts(const wire::LiveFinding& finding) {
  return finding.action == model::Name(model::RecommendedAction::kRestart) ||
         finding.action == model::Name(model::RecommendedAction::kIsolateAndRestart);
}

// One tour of one job, from its start to the last fault's end.
class Tour {
 public:
  Tour(SteeredLab* lab, const FaultTourOptions& options, const TourProgress& progress)
      : lab_(lab), options_(options), progress_(progress) {}

  Result<FaultTour> Run() {
    FL_RETURN_IF_ERROR(StartAnew("starting the job"));
    for (const LabFault& fault : options_.faults) FL_RETURN_IF_ERROR(Visit(fault));
    for (size_t i = 0; i < tour_.stops.size(); ++i) Judge(hosts_[i], &tour_.stops[i]);
    return std::move(tour_);
  }

 private:
  static JobId job() { return JobId(0u); }
  JobRunner& runner() { return lab_->runner(); }

  void Say(const std::string& what) const {
    progress_(what, static_cast<double>(tour_.stops.size()) / static_cast<double>(options_.faults.size() + 1));
  }

  // As SteeredLab; findings go to the fault that they come after.
  Result<bool> WaitUntil(double patience_s, const std::function<bool()>& is_so) {
    return lab_->WaitUntil(patience_s, [&] {
      auto& list = tour_.stops.empty() ? tour_.unexpected : tour_.stops.back().findings;
      for (wire::LiveFinding& finding : lab_->TakeFindings()) list.push_back(std::move(finding));
      return is_so();
    });
  }

  Status Wait(double seconds) {
    return WaitUntil(seconds, [] { return false; }).status();
  }

  // A run of the job that only the tour requests.
  Status StartAnew(const std::string& what) {
    Say(what);
    FL_RETURN_IF_ERROR(lab_->StartJob(job()));
    clean_since_s_ = SteadySeconds();
    return OkStatus();
  }

  Status Visit(const LabFault& fault) {
    Say(fmt::format("{}: the job gets warm", Name(fault.kind)));
    FL_RETURN_IF_ERROR(Wait(clean_since_s_ + (IsSlow(fault.kind) ? kBaselineSeconds : kWarmSeconds) - SteadySeconds()));
    if (!lab_->IsWhole(job())) FL_RETURN_IF_ERROR(StartAnew("the job had ended: restarting it"));
    Say(fmt::format("{}: {}", Name(fault.kind), Describe(fault.kind)));
    std::vector<std::string>& hosts = hosts_.emplace_back();
    for (const LabNodeId host : runner().HostsOf(job())) hosts.push_back(lab_->NameOf(host));
    tour_.stops.push_back({.fault = fault,
                           .job = runner().name(job()),
                           .host = hosts[fault.worker],
                           .findings = {},
                           .found_s = {},
                           .back_s = {}});
    const double planted_at_s = UnixSeconds();
    before_ = runner().ProgressOf(job());
    FL_RETURN_IF_ERROR(lab_->injector().Apply(job(), fault));
    return NeedsFinding(fault.kind) ? Watch(planted_at_s) : WatchNothing(fault);
  }

  // Nothing should be found.
  Status WatchNothing(const LabFault& fault) {
    FL_RETURN_IF_ERROR(Wait(fault.kind == LabFaultKind::kPause ? fault.seconds : options_.healthy_s));
    return GoOn();
  }

  Status Watch(double planted_at_s) {
    const LabFaultKind kind = tour_.stops.back().fault.kind;
    FL_ASSIGN_OR_RETURN(const bool found, WaitUntil(PatienceSeconds(kind), [&] { return !Findings().empty(); }));
    if (!found) return GoOn();
    const wire::LiveFinding finding = Findings().front();
    Say(fmt::format("{}: found {}", Name(kind), finding.syndrome));
    const double found_at_s = SteadySeconds();
    tour_.stops.back().found_s = *finding.confirmed_at_s - planted_at_s;
    if (Restarts(finding)) {
      FL_ASSIGN_OR_RETURN(tour_.stops.back().was_restarted,
                          WaitUntil(kRestartPatience, [&] { return lab_->HasIterationOf(job(), before_.run + 1); }));
      if (tour_.stops.back().was_restarted) NoteRestart(SteadySeconds() - found_at_s);
      return GoOn();
    }
    FL_RETURN_IF_ERROR(GoOn());
    tour_.stops.back().back_s = SteadySeconds() - found_at_s;
    return OkStatus();
  }

  // What the run before had done, and the checkpoint had not, was done again.
  void NoteRestart(double back_s) {
    TourStop& stop = tour_.stops.back();
    stop.back_s = back_s;
    const auto before = runner().IterationsOf(job(), before_.run);
    const auto now = runner().IterationsOf(job(), before_.run + 1);
    if (before && now && before->last >= now->first) stop.lost_iterations = before->last + 1 - now->first;
  }

  // Repairs the fault, and waits until the job continues; a job that does not, or can't, is restarted.
  Status GoOn() {
    FL_RETURN_IF_ERROR(lab_->injector().Undo());
    if (tour_.stops.back().fault.kind == LabFaultKind::kMismatch)
      return StartAnew("the program is repaired: restarting it");
    const JobProgress before = runner().ProgressOf(job());
    FL_ASSIGN_OR_RETURN(const bool goes_on, WaitUntil(lab_->IsWhole(job()) ? kGoOnPatience : 0, [&] {
                          const JobProgress now = runner().ProgressOf(job());
                          return now.iteration.has_value() && now != before;
                        }));
    clean_since_s_ = SteadySeconds();
    return goes_on ? OkStatus() : StartAnew("the job is stalled: restarting it");
  }

  const std::vector<wire::LiveFinding>& Findings() const { return tour_.stops.back().findings; }

  static void Judge(const std::vector<std::string>& hosts, TourStop* stop) {
    const auto is_right = [&](const wire::LiveFinding& finding) { return IsRight(stop->fault, hosts, finding); };
    stop->is_right = stop->findings.empty() == !NeedsFinding(stop->fault.kind) &&
                     std::all_of(stop->findings.begin(), stop->findings.end(), is_right);
  }

  SteeredLab* lab_;
  const FaultTourOptions& options_;
  const TourProgress& progress_;
  FaultTour tour_;
  std::vector<std::vector<std::string>> hosts_;  // [stop][rank] where the job ran at the fault
  JobProgress before_;                           // at the fault
  double clean_since_s_ = 0;                     // of the monotonic clock
};

}  // namespace

bool FaultTour::IsAllRight() const {
  return unexpected.empty() && std::all_of(stops.begin(), stops.end(), [](const TourStop& s) { return s.is_right; });
}

std::vector<LabFault> PlanTour(std::vector<LabFaultKind> kinds, uint32_t num_workers, double iteration_s) {
  // Faults that restart the job make the diagnosis learn again what is normal; so slow faults are spread, with faults
  // between them that need no such knowledge.
  constexpr std::array kOrder = {LabFaultKind::kHealthy,    LabFaultKind::kSlowConnection, LabFaultKind::kPause,
                                 LabFaultKind::kSlowSend,   LabFaultKind::kCutLink,        LabFaultKind::kSlowReceive,
                                 LabFaultKind::kKilledRank, LabFaultKind::kBusyRank,       LabFaultKind::kKilledHost,
                                 LabFaultKind::kSlowLoader, LabFaultKind::kFrozenRank,     LabFaultKind::kMismatch};
  static_assert(kOrder.size() == kNumLabFaultKinds);
  std::vector<LabFault> faults;
  for (const LabFaultKind kind : kOrder) {
    if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    LabFault fault{.kind = kind};
    // Neighbours in a ring share more than others: the peer is across.
    fault.worker = (1 + 3 * static_cast<uint32_t>(faults.size())) % num_workers;
    fault.peer = (fault.worker + std::max(1u, num_workers / 2)) % num_workers;
    // A NIC at half of its speed. A connection has a part of its NIC's only, and keeps a third of that.
    fault.share = kind == LabFaultKind::kSlowConnection ? 1.0 / (3 * std::max(1u, num_workers - 1)) : 0.5;
    if (kind == LabFaultKind::kPause) fault.seconds = kPauseSeconds;
    if (kind == LabFaultKind::kBusyRank) fault.seconds = kBusyShare * iteration_s;
    if (kind == LabFaultKind::kSlowLoader) fault.seconds = kLoaderShare * iteration_s;
    faults.push_back(fault);
  }
  return faults;
}

Result<FaultTour> RunFaultTour(const std::string& file, const sim::Scenario& scenario, const FaultTourOptions& options,
                               const TourProgress& progress, const std::atomic<bool>& stop) {
  const double begin_s = SteadySeconds();
  progress("bringing the lab up", 0);
  FL_ASSIGN_OR_RETURN(const auto lab, SteeredLab::Start(file, scenario, options.lab, stop));
  const size_t num_workers = lab->runner().HostsOf(JobId(0u)).size();
  for (const LabFault& fault : options.faults) FL_RETURN_IF_ERROR(Validate(fault, num_workers));
  FL_ASSIGN_OR_RETURN(FaultTour toured, Tour(lab.get(), options, progress).Run());
  toured.title = scenario.title;
  toured.num_hosts = scenario.fabric.num_hosts();
  toured.num_workers = num_workers;
  toured.wall_s = SteadySeconds() - begin_s;
  return toured;
}

}  // namespace fairlead::lab
