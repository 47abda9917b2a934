#include "sim/drill/drill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "diagnosis/c4d/c4d_master.h"

namespace fairlead::sim {

namespace {

using controller::Advise;
using controller::AskOperator;
using controller::ExcuseJob;
using controller::IsolateHost;
using controller::RestartJob;
using controller::SteeringAction;
using controller::SteeringEvent;
using diagnosis::c4d::C4dAction;
using diagnosis::c4d::C4dMaster;
using execution::FaultKind;
using model::Finding;

constexpr SimDuration kTick(1'000'000'000);
constexpr SimTime kNotYet = SimTime::Never();
// What counts as slow, for the first symptom: the time of an iteration over the median of those before.
constexpr double kSlowIteration = 1.1;
// After a restart, until the job has reported its new layout.
constexpr SimDuration kFirstReports(5'000'000'000);
// Later ones are not the fault's.
constexpr SimDuration kLatestSymptom(300'000'000'000);

bool IsProgramFault(FaultKind kind) {
  return execution::IsMistake(kind) || kind == FaultKind::kProcessCrash || kind == FaultKind::kProcessFrozen ||
         kind == FaultKind::kCheckpointStall;
}

// Whether people take a host away for it.
bool BlamesHost(FaultKind kind) {
  return !IsProgramFault(kind) && kind != FaultKind::kConnectionDown && kind != FaultKind::kSlowConnection &&
         kind != FaultKind::kLossyConnection && kind != FaultKind::kSlowLeaf && kind != FaultKind::kSlowPlane;
}

HostId HostIn(const controller::SteeringStep& step) {
  if (const auto* isolate = std::get_if<IsolateHost>(&step)) return isolate->host;
  if (const auto* take = std::get_if<controller::TakeSpare>(&step)) return take->spare;
  if (const auto* test = std::get_if<controller::TestHost>(&step)) return test->host;
  if (const auto* back = std::get_if<controller::ReturnHost>(&step)) return back->host;
  if (const auto* ask = std::get_if<AskOperator>(&step)) return ask->host;
  return HostId();
}

// One run.
class DrillSimulation {
 public:
  DrillSimulation(const DrillOptions& options, bool with_diagnosis)
      : options_(options),
        with_diagnosis_(with_diagnosis),
        cluster_(options.cluster, options.faults),
        master_(options.diagnosis),
        steering_(options.steering, options.cluster.shape.NumHosts() + options.cluster.num_spares),
        dispatcher_(&steering_, &cluster_, [this](const controller::AuditEntry& entry) { NoteOutcome(entry); }),
        is_announced_(options.pauses.size()) {
    run_.stories.resize(options.faults.size());
    for (size_t f = 0; f < run_.stories.size(); ++f)
      run_.stories[f].fault = f, run_.stories[f].host = cluster_.faults().HostOf(f);
    Tell(SimTime(), cluster_.Announce());
  }

  DrillRun Simulate(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    const int64_t num_ticks = (options_.end - SimTime()) / kTick;
    for (int64_t tick = 1; tick <= num_ticks && !stop; ++tick) {
      Step(SimTime() + kTick * tick);
      if (tick % 16 == 0 && progress) progress(static_cast<double>(tick) / static_cast<double>(num_ticks));
    }
    return Finish();
  }

 private:
  void Step(SimTime now) {
    now_ = now;
    const std::vector<model::TelemetryRecord> records = cluster_.Simulate(now);
    NoteFaults();
    std::vector<SteeringEvent> events = AnnouncePauses();
    if (with_diagnosis_) {
      for (const C4dAction& action : master_.Handle(now, records)) {
        NoteFinding(action);
        events.emplace_back(controller::FindingReported{action.finding});
      }
    }
    Tell(now, events);
    LetPeopleAct();
  }

  void Tell(SimTime now, const std::vector<SteeringEvent>& events) {
    const bool was_running = cluster_.IsRunning();
    const uint64_t lost_before = cluster_.num_lost();
    for (const SteeringAction& action : dispatcher_.Handle(now, events)) {
      if (const auto* excuse = std::get_if<ExcuseJob>(&action.step)) master_.ExcuseUntil(excuse->until);
      NoteAction(action);
    }
    if (was_running && !cluster_.IsRunning()) NoteStop(cluster_.num_lost() - lost_before);
    if (!was_running && cluster_.IsRunning()) NoteRestart();
  }

  std::vector<SteeringEvent> AnnouncePauses() {
    std::vector<SteeringEvent> events;
    for (size_t p = 0; p < options_.pauses.size(); ++p) {
      const PlannedPause& pause = options_.pauses[p];
      if (is_announced_[p] || now_ < pause.begin) continue;
      is_announced_[p] = true;
      Note(DrillEventKind::kPause, fmt::format("announced for {:.0f} s", (pause.end - pause.begin).seconds().value()));
      events.emplace_back(controller::PauseAnnounced{SimulatedCluster::kJob, pause.end, "planned maintenance"});
    }
    return events;
  }

  // People look after a job that has been stalled for the time-out, or that steering leaves to them.
  void LetPeopleAct() {
    if (restart_at_ != kNotYet) return RestartByPeople();
    const controller::JobCondition condition = *steering_.ConditionOf(SimulatedCluster::kJob);
    const bool is_asked = condition == controller::JobCondition::kNeedsOperator;
    const bool has_timed_out = condition == controller::JobCondition::kRunning && cluster_.IsRunning() && !IsPaused() &&
                               now_ - cluster_.last_progress() >= options_.timeout;
    if (!is_asked && !has_timed_out) {
      act_at_ = kNotYet;
    } else if (act_at_ == kNotYet) {
      const bool is_informed = is_asked || HasOpenFinding();
      const SimDuration search = is_informed ? options_.reaction : options_.search;
      act_at_ = now_ + search;
      Note(DrillEventKind::kPeople,
           fmt::format("{}; people {} for {:.0f} min",
                       is_asked ? "they are asked" : "the job gives up after the time-out",
                       is_informed ? "follow what was found" : "search", search.seconds().value() / 60));
    } else if (now_ >= act_at_) {
      act_at_ = kNotYet;
      StopByPeople();
    }
  }

  bool IsPaused() const {
    return std::any_of(options_.pauses.begin(), options_.pauses.end(),
                       [&](const PlannedPause& pause) { return pause.begin <= now_ && now_ < pause.end; });
  }

  bool HasOpenFinding() const {
    return std::any_of(master_.findings().begin(), master_.findings().end(),
                       [](const Finding& finding) { return finding.state == model::FindingState::kConfirmed; });
  }

  // They know what has acted. Hosts at fault are replaced while there are spares; everything else is mended where it is.
  void StopByPeople() {
    people_hosts_ = cluster_.hosts();
    std::set<HostId> spares = steering_.spares();
    for (size_t f = 0; f < options_.faults.size(); ++f) {
      if (!cluster_.faults().FirstActed(f)) continue;
      const HostId host = cluster_.faults().HostOf(f);
      const auto place = std::find(people_hosts_.begin(), people_hosts_.end(), host);
      const bool blames_host = BlamesHost(options_.faults[f].kind) && host.valid();
      if (blames_host && place == people_hosts_.end()) continue;  // it is away
      if (blames_host && !spares.empty()) {
        *place = spares.extract(spares.begin()).value();
      } else {
        cluster_.Repair(f);
      }
    }
    const ClusterOptions& cluster = options_.cluster;
    restart_at_ = now_ + cluster.stop_time + cluster.spare_time + cluster.restart_time;
    const uint64_t lost_before = cluster_.num_lost();
    const bool was_running = cluster_.IsRunning();
    cluster_.Stop(now_);
    if (was_running) NoteStop(cluster_.num_lost() - lost_before);
    NoteFirstAction();
    Tell(now_,
         {controller::PauseAnnounced{SimulatedCluster::kJob, restart_at_ + kFirstReports, "restarted by people"}});
  }

  void RestartByPeople() {
    if (now_ < restart_at_) return;
    restart_at_ = kNotYet;
    cluster_.Start(now_, people_hosts_);
    NoteRestart();
    Tell(now_, {controller::JobRunning{SimulatedCluster::kJob, people_hosts_}});
  }

  void Note(DrillEventKind kind, std::string text, HostId host = HostId()) {
    NoteAt(now_, kind, std::move(text), host);
  }
  void NoteAt(SimTime at, DrillEventKind kind, std::string text, HostId host) {
    run_.events.push_back({at, kind, std::move(text), host});
  }

  void NoteFaults() {
    for (size_t f = 0; f < run_.stories.size(); ++f) {
      FaultStory& story = run_.stories[f];
      if (story.acted != kNotYet || !cluster_.faults().FirstActed(f)) continue;
      story.acted = *cluster_.faults().FirstActed(f);
      NoteAt(story.acted, DrillEventKind::kFault, std::string(execution::Name(options_.faults[f].kind)), story.host);
    }
    for (FaultStory& story : run_.stories) {
      if (story.acted != kNotYet && story.symptom == kNotYet && story.restarted == kNotYet) FindSymptom(&story);
    }
  }

  // Among the iterations that ended, or were due, after the fault acted; checkpoints take longer anyway.
  void FindSymptom(FaultStory* story) {
    if (now_ - story->acted > kLatestSymptom) return;
    const std::vector<SimTime> ends = cluster_.IterationEnds();
    std::vector<int64_t> before;
    size_t i = 1;
    for (; i < ends.size() && ends[i] <= story->acted; ++i) before.push_back((ends[i] - ends[i - 1]).ns());
    if (before.empty()) return;
    const auto median = before.begin() + static_cast<ptrdiff_t>(before.size() / 2);
    std::nth_element(before.begin(), median, before.end());
    const SimDuration limit(static_cast<int64_t>(kSlowIteration * static_cast<double>(*median)));
    const uint32_t every = options_.cluster.shape.checkpoint_every;
    for (; i < ends.size() && ends[i - 1] + limit <= now_; ++i) {
      const bool never_ends = ends[i] == SimTime::Never();
      const bool is_checkpoint = every > 0 && (i + 1) % every == 0;
      if (!never_ends && (is_checkpoint || ends[i] - ends[i - 1] <= limit)) continue;
      story->symptom = std::max(ends[i - 1] + limit, story->acted);
      return;
    }
  }

  // The fault that something is about: one of that host, or the first that is not over.
  FaultStory* StoryOf(const Finding* finding) {
    FaultStory* first = nullptr;
    for (FaultStory& story : run_.stories) {
      if (story.acted == kNotYet || story.acted > now_ || story.restarted != kNotYet) continue;
      if (first == nullptr) first = &story;
      if (finding != nullptr && Names(*finding, story.host)) return &story;
    }
    return first;
  }

  static bool Names(const Finding& finding, HostId host) {
    return host.valid() && std::any_of(finding.culprits.begin(), finding.culprits.end(),
                                       [&](const model::Culprit& culprit) { return culprit.host == host; });
  }

  void NoteFinding(const C4dAction& action) {
    const Finding& finding = action.finding;
    const HostId host = finding.culprits.empty() ? HostId() : finding.culprits.front().host;
    const std::string name = fmt::format("#{} {}", finding.id.value(), model::Name(finding.syndrome));
    if (finding.state == model::FindingState::kCleared) {
      return Note(DrillEventKind::kFinding, name + " has cleared", host);
    }
    if (action.change != diagnosis::c4d::FindingChange::kOpened) return;
    NoteAt(finding.first_seen, DrillEventKind::kSuspicion, name, host);
    Note(DrillEventKind::kFinding, fmt::format("{} confirmed: {}", name, finding.summary), host);
    FaultStory* story = StoryOf(&finding);
    if (story == nullptr || story->confirmed != kNotYet) return;
    story->suspected = finding.first_seen;
    story->confirmed = now_;
    story->finding = model::Name(finding.syndrome);
    story->names_host = Names(finding, story->host);
  }

  void NoteAction(const SteeringAction& action) {
    if (std::holds_alternative<ExcuseJob>(action.step)) return;
    const bool is_advice = !controller::IsAnswered(action.step);
    std::string text = is_advice ? action.reason : controller::Describe(action.step);
    if (action.attempt > 1) text += fmt::format(", attempt {}", action.attempt);
    Note(is_advice ? DrillEventKind::kAdvice : DrillEventKind::kAction, std::move(text), HostIn(action.step));
    const bool is_first =
        std::holds_alternative<IsolateHost>(action.step) || std::holds_alternative<controller::StopJob>(action.step);
    if (is_first) NoteFirstAction();
  }

  void NoteFirstAction() {
    FaultStory* story = StoryOf(nullptr);
    if (story != nullptr && story->action == kNotYet) story->action = now_;
  }

  void NoteOutcome(const controller::AuditEntry& entry) {
    run_.audit.push_back(entry);
    const auto* event = std::get_if<SteeringEvent>(&entry.what);
    if (event == nullptr) return;
    if (const auto* done = std::get_if<controller::StepDone>(event); done != nullptr && !done->succeeded) {
      Note(DrillEventKind::kOutcome, fmt::format("attempt {} failed: {}", done->attempt, done->message));
    }
    if (const auto* tested = std::get_if<controller::HostTested>(event)) {
      Note(DrillEventKind::kOutcome,
           fmt::format("host {} {} its tests", tested->host.value(), tested->is_healthy ? "passed" : "failed"),
           tested->host);
    }
  }

  void NoteStop(uint64_t num_lost) {
    FaultStory* story = StoryOf(nullptr);
    if (story != nullptr) story->num_lost += num_lost;
    Note(DrillEventKind::kOutcome, fmt::format("the job is stopped; {} iterations are lost", num_lost));
  }

  void NoteRestart() {
    Note(DrillEventKind::kRestarted, fmt::format("the job goes on from iteration {}", cluster_.NumIterations()));
    for (FaultStory& story : run_.stories) {
      const bool is_under_way = story.acted != kNotYet && story.restarted == kNotYet;
      if (is_under_way && IsOver(story)) story.restarted = now_;
    }
  }

  // Whether the fault does not act upon the run that has begun.
  bool IsOver(const FaultStory& story) const {
    if (!StaysBroken(options_.faults[story.fault].kind)) return true;
    const std::vector<HostId>& hosts = cluster_.hosts();
    if (!story.host.valid()) return cluster_.faults().IsRepaired(story.fault);
    return cluster_.faults().IsRepaired(story.fault) ||
           std::find(hosts.begin(), hosts.end(), story.host) == hosts.end();
  }

  DrillRun Finish() {
    run_.stretches = cluster_.Stretches();
    for (const JobStretch& stretch : run_.stretches) {
      if (stretch.activity != JobActivity::kTraining) run_.lost_s += (stretch.end - stretch.begin).seconds().value();
    }
    run_.num_iterations = cluster_.NumIterations();
    run_.num_lost = cluster_.num_lost();
    run_.hosts = cluster_.hosts();
    run_.condition = *steering_.ConditionOf(SimulatedCluster::kJob);
    std::stable_sort(run_.events.begin(), run_.events.end(),
                     [](const DrillEvent& a, const DrillEvent& b) { return a.at < b.at; });
    return std::move(run_);
  }

  const DrillOptions& options_;
  bool with_diagnosis_;
  SimTime now_;
  DrillRun run_;
  SimulatedCluster cluster_;
  C4dMaster master_;
  controller::Steering steering_;
  controller::SteeringDispatcher dispatcher_;
  std::vector<bool> is_announced_;  // [pause]
  // People: end of their search; end of their restart, and on which hosts.
  SimTime act_at_ = kNotYet;
  SimTime restart_at_ = kNotYet;
  std::vector<HostId> people_hosts_;
};

}  // namespace

Status DrillOptions::Validate() const {
  FL_RETURN_IF_ERROR(cluster.Validate());
  FL_RETURN_IF_ERROR(diagnosis.Validate());
  FL_RETURN_IF_ERROR(steering.Validate());
  for (const execution::Fault& fault : faults) FL_RETURN_IF_ERROR(execution::Validate(fault, cluster.shape));
  if (end <= SimTime()) return InvalidArgument("drill: end: expected > 0 s");
  for (const PlannedPause& pause : pauses) {
    if (pause.begin >= pause.end) return InvalidArgument("drill: a pause must begin before it ends");
  }
  return OkStatus();
}

std::string_view Name(DrillEventKind kind) {
  static constexpr std::array<std::string_view, 9> kNames = {"fault",  "suspicion", "finding", "action", "outcome",
                                                             "advice", "restarted", "people",  "pause"};
  return kNames.at(static_cast<size_t>(kind));
}

DrillRun RunDrill(const DrillOptions& options, bool with_diagnosis, const std::atomic<bool>& stop,
                  const std::function<void(double)>& progress) {
  return DrillSimulation(options, with_diagnosis).Simulate(stop, progress);
}

}  // namespace fairlead::sim
