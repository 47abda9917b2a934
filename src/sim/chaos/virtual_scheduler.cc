#include "sim/chaos/virtual_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::sim::chaos {

using controller::SteeringAction;

namespace {

// One attempt in so many fails.
constexpr uint64_t kFailsOneIn = 8;
// From a fault to what is done about it, with all attempts and a controller that is away in between.
constexpr SimDuration kGuiltyFor(90'000'000'000);

// From the start of a job to what is done about its run before: likewise, with what was under way by then.
constexpr SimDuration kWellFor(30'000'000'000);

}  // namespace

VirtualScheduler::VirtualScheduler(uint64_t seed, SimTime calm_at, Surroundings surroundings)
    : random_(seed), calm_at_(calm_at), surroundings_(std::move(surroundings)) {}

void VirtualScheduler::Violate(std::string law, std::string text) {
  surroundings_.violate({surroundings_.queue->now(), std::move(law), std::move(text)});
}

void VirtualScheduler::Begin(const SteeringAction& action, const controller::SteeringNames& names) {
  const std::string job = action.job.valid() ? names.job(action.job) : std::string();
  const std::string text = fmt::format("action {}, attempt {}: {} ({})", action.number, action.attempt,
                                       controller::Describe(action.step, names), action.reason);
  surroundings_.queue->Log([&] { return "begins " + text; });
  Check(action, job, text);
  // As service/steering/hook_workers.h: one program of an action at a time, and none after its success.
  const auto [running, is_new] = busy_.try_emplace(action.number);
  if (is_new) return Run(action, job);
  running->second = action;
}

void VirtualScheduler::Run(const SteeringAction& action, const std::string& job) {
  const bool fails = surroundings_.queue->now() < calm_at_ && random_.Below(kFailsOneIn) == 0;
  surroundings_.queue->After(
      hosts::RandomMilliseconds(&random_, 50, 1500),
      [this, action, job, fails, controller = controller_, dies_after = random_.Below(2) == 0] {
        const bool is_gone = controller != controller_;
        if (is_gone && !dies_after) return;
        if (!fails) Do(action.step, job);
        if (is_gone) return;
        if (const auto* test = std::get_if<controller::TestHost>(&action.step); test != nullptr && !fails) {
          outcomes_.emplace_back(controller::HostTested{.host = test->host, .is_healthy = true});
        }
        const std::optional<SteeringAction> waiting = std::move(busy_.extract(action.number).mapped());
        if (fails && waiting.has_value()) {
          busy_.try_emplace(action.number);
          Run(*waiting, job);
        }
        outcomes_.emplace_back(controller::StepDone{.action = action.number,
                                                    .attempt = action.attempt,
                                                    .succeeded = !fails,
                                                    .is_final = false,
                                                    .message = fails ? "the scheduler is away" : ""});
      });
}

std::vector<controller::SteeringEvent> VirtualScheduler::TakeOutcomes() {
  for (const controller::SteeringEvent& outcome : outcomes_) {
    const auto* done = std::get_if<controller::StepDone>(&outcome);
    if (done != nullptr && done->succeeded) reported_.insert(done->action);
  }
  return std::exchange(outcomes_, {});
}

void VirtualScheduler::OutcomesKept() { recorded_.merge(reported_); }

void VirtualScheduler::ControllerDied() {
  ++controller_;
  busy_.clear();
  outcomes_.clear();
  reported_.clear();
}

void VirtualScheduler::Check(const SteeringAction& action, const std::string& job, const std::string& text) {
  if (recorded_.contains(action.number)) Violate("an action with a recorded outcome does not begin again", text);
  if (const auto* isolate = std::get_if<controller::IsolateHost>(&action.step)) {
    CheckGuilt(job, isolate->host.value(), text);
    CheckNeed(job, text);
  } else if (std::holds_alternative<controller::StopJob>(action.step)) {
    CheckGuilt(job, std::nullopt, text);
    CheckNeed(job, text);
  } else if (const auto* restart = std::get_if<controller::RestartJob>(&action.step)) {
    CheckGuilt(job, std::nullopt, text);
    CheckRestart(job, *restart, text);
  }
}

void VirtualScheduler::CheckGuilt(const std::string& job, std::optional<uint32_t> host, const std::string& text) {
  const SimTime since = surroundings_.queue->now() - kGuiltyFor;
  if (surroundings_.jobs->HasBroken(job, host, since)) return;
  const bool is_impostors = IsImpostors(job);
  if (host.has_value()) {
    if (surroundings_.is_hostile(*host) || (is_impostors && surroundings_.has_impostors(*host))) return;
    // Two signs that don't follow from each other: what a member of the job says, which lies, and silence.
    if (HasHostile(job) && surroundings_.is_away(*host)) return;
    return Violate("only hosts on which something has broken are isolated", text);
  }
  if (!is_impostors && !HasHostile(job)) Violate("only jobs in which something has broken are touched", text);
}

bool VirtualScheduler::IsImpostors(const std::string& job) const {
  return std::ranges::count(surroundings_.jobs->States(), job, &VirtualJobs::State::name) == 0;
}

// Whether somebody has a host of that job.
bool VirtualScheduler::HasHostile(const std::string& job) const {
  for (const VirtualJobs::State& state : surroundings_.jobs->States()) {
    if (state.name != job) continue;
    return std::ranges::any_of(state.hosts, surroundings_.is_hostile) ||
           std::ranges::any_of(state.hosts_before, surroundings_.is_hostile);
  }
  return false;
}

void VirtualScheduler::CheckNeed(const std::string& job, const std::string& text) {
  for (const VirtualJobs::State& state : surroundings_.jobs->States()) {
    const bool is_well =
        state.is_running && !state.is_broken && surroundings_.queue->now() - state.started_at > kWellFor;
    if (state.name == job && is_well && !HasHostile(job)) Violate("a job that is well is left alone", text);
  }
}

void VirtualScheduler::CheckRestart(const std::string& job, const controller::RestartJob& restart,
                                    const std::string& text) {
  if (std::set<HostId>(restart.hosts.begin(), restart.hosts.end()).size() < restart.hosts.size()) {
    Violate("a job has each host once", text);
  }
  const bool is_impostors = IsImpostors(job);
  for (const HostId host : restart.hosts) {
    if (isolated_.contains(host.value())) Violate("no job is started on an isolated host", text);
    const auto spare = spares_.find(host.value());
    // An impostor's job may say that it runs there; the scheduler knows none of that name.
    if (spare != spares_.end() && spare->second != job && !is_impostors) Violate("a spare is of one job", text);
  }
}

void VirtualScheduler::Do(const Step& step, const std::string& job) {
  surroundings_.queue->Log([&] { return fmt::format("is done: {} of {}", controller::Name(step), job); });
  if (const auto* isolate = std::get_if<controller::IsolateHost>(&step)) {
    if (isolated_.insert(isolate->host.value()).second) ++num_isolated_;
    spares_.erase(isolate->host.value());
    surroundings_.jobs->SetIsolated(isolate->host.value(), true);
  } else if (std::holds_alternative<controller::StopJob>(step)) {
    surroundings_.jobs->Stop(job);
  } else if (const auto* take = std::get_if<controller::TakeSpare>(&step)) {
    spares_[take->spare.value()] = job;
  } else if (const auto* restart = std::get_if<controller::RestartJob>(&step)) {
    std::vector<uint32_t> hosts;
    for (const HostId host : restart->hosts) hosts.push_back(host.value());
    surroundings_.jobs->Restart(job, std::move(hosts));
    ++num_restarted_;
  } else if (const auto* back = std::get_if<controller::ReturnHost>(&step)) {
    isolated_.erase(back->host.value());
    surroundings_.jobs->SetIsolated(back->host.value(), false);
  }
}

}  // namespace fairlead::sim::chaos
