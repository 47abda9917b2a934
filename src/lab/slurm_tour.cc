#include "lab/slurm_tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "base/file_reader.h"
#include "base/file_writer.h"
#include "base/steady_seconds.h"
#include "base/whole_number.h"
#include "lab/findings_page.h"
#include "lab/free_page.h"
#include "lab/job_runner.h"
#include "lab/lab_services.h"
#include "lab/lab_slurm.h"
#include "slurm/host_list.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTourTick{300};
// Before it is frozen a job has done iterations for so long on its hosts: the diagnosis knows it by then.
constexpr double kSettleSeconds = 9;
// Hosts are idle again after a run.
constexpr double kQuietPatience = 60;
constexpr double kTourHangSeconds = 3600;  // longer than the tour
// Times of the policy are made for restarts of half a minute and jobs of hours. Here a restart takes about four seconds
// and a job a minute.
constexpr std::array kTourSettings = {"hold_s=20",     "min_run_s=20",     "round_s=5",
                                      "patience_s=60", "restart_factor=2", "stay_factor=100"};

bool IsFinal(std::string_view state) {
  static const std::set<std::string_view> kFinal = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE",
                                                    "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"};
  return kFinal.contains(state);
}

// One line of squeue.
struct SeenJob {
  std::string state;
  std::vector<std::string> hosts;
};

std::map<uint32_t, SeenJob> ReadQueue(const std::string& text) {
  std::map<uint32_t, SeenJob> seen;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find('|');
    const size_t second = line.find('|', first + 1);
    const auto number = ParseWhole<uint32_t>(line.substr(0, first));
    if (!number || second == line.npos) continue;
    auto hosts = slurm::ExpandHosts(line.substr(second + 1));
    seen[*number] = {line.substr(first + 1, second - first - 1),
                     hosts.ok() ? *std::move(hosts) : std::vector<std::string>()};
  }
  return seen;
}

// The first iteration in a file of records, and its number.
std::optional<LastIteration> FindFirstIteration(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (const auto found = FindLastIteration(line)) return found;
  }
  return std::nullopt;
}

// One run of all jobs.
class TourRun {
 public:
  TourRun(LabSession* session, const sim::Scenario& scenario, const SlurmTourOptions& options, std::string page,
          std::function<void(const std::string&, double)> say, const std::atomic<bool>& stop)
      : session_(*session),
        options_(options),
        page_(std::move(page)),
        say_(std::move(say)),
        stop_(stop),
        work_(SlurmFolder(session->folder().path()) + (page_.empty() ? "/work/plain" : "/work/fairlead")) {
    run_.has_fairlead = !page_.empty();
    for (const sim::ScenarioJob& entry : scenario.jobs) {
      const model::Job& job = entry.job;
      const auto& sizes = job.elasticity.sizes;
      run_.jobs.push_back({.name = job.name,
                           .asked = job.num_gpus / job.gpus_per_host,
                           .least = sizes.front() / job.gpus_per_host,
                           .most = sizes.back() / job.gpus_per_host,
                           .submitted_s = job.arrival.seconds().value(),
                           .state = "",
                           .spans = {}});
      iterations_.push_back(job.num_iterations);
    }
  }

  Result<SlurmTourRun> Run() {
    std::error_code error;
    fs::create_directories(work_, error);
    begin_s_ = SteadySeconds();
    double quiet_since_s = 0;
    while (true) {
      if (stop_) return Status(StatusCode::kCancelled, "stopped; nothing of the lab is left");
      FL_RETURN_IF_ERROR(SubmitWhatIsDue());
      FL_RETURN_IF_ERROR(LookAtQueue());
      if (!run_.freeze) FL_RETURN_IF_ERROR(FreezeIfDue());
      FL_RETURN_IF_ERROR(FollowFreeze());
      Tell();
      if (run_.HaveAllEnded() || Now() > options_.patience_s) break;
      // What hangs, hangs.
      const bool only_it = OnlyTheFrozenJobIsLeft();
      if (!only_it) quiet_since_s = Now();
      if (only_it && !run_.has_fairlead && Now() - quiet_since_s > options_.hang_wait_s) break;
      std::this_thread::sleep_for(kTourTick);
    }
    run_.length_s = Now();
    for (SlurmTourJob& job : run_.jobs) CloseSpan(&job);
    FL_RETURN_IF_ERROR(EndAll());
    return std::move(run_);
  }

 private:
  double Now() const { return SteadySeconds() - begin_s_; }

  Result<std::string> Slurm(std::vector<std::string> command) const {
    return RunSlurmProgram(session_.state(), session_.folder().path(), std::move(command));
  }

  std::string FolderOf(const SlurmTourJob& job) const { return work_ + "/" + job.name; }
  std::string RecordsOf(const SlurmTourJob& job, size_t run) const {
    return fmt::format("{}/run{}/0.jsonl", FolderOf(job), run);
  }

  Status SubmitWhatIsDue() {
    for (size_t i = 0; i < run_.jobs.size(); ++i) {
      SlurmTourJob& job = run_.jobs[i];
      if (job.number == 0 && job.submitted_s <= Now()) FL_RETURN_IF_ERROR(Submit(iterations_[i], &job));
    }
    return OkStatus();
  }

  Status Submit(uint64_t iterations, SlurmTourJob* job) {
    const std::string folder = FolderOf(*job);
    // (--export=ALL,WORK=… would have Slurm log the user in on each host, which may take a minute.)
    std::vector<std::string> command = {
        "WORK=" + work_,     "sbatch",   "--parsable", "--job-name=" + job->name, "--chdir=/",
        "--gpus-per-node=1", "--requeue"};
    if (run_.has_fairlead) {
      const nlohmann::json wish = {
          {"steps", iterations}, {"progress", folder + "/steps"}, {"checkpoint", folder + "/checkpoint"}};
      command.insert(command.end(), {fmt::format("--nodes={}-{}", job->least, job->most),
                                     "--comment=" + nlohmann::json({{"fairlead", wish}}).dump()});
    } else {
      // The profiler's plugin is loaded in both runs, so that trainers talk alike; here nobody reads what it writes.
      command.insert(command.end(), {fmt::format("--nodes={}", job->asked), "--fairlead=observe"});
    }
    command.insert(command.end(), {SlurmFolder(session_.folder().path()) + "/train.sh", job->name});
    FL_ASSIGN_OR_RETURN(const std::string answer, Slurm(std::move(command)));
    const auto number = ParseWhole<uint32_t>(answer.substr(0, answer.find_first_of(";\n")));
    if (!number) return Unavailable("sbatch answered '" + answer + "', expected the number of the job");
    job->number = *number;
    job->submitted_s = Now();
    return OkStatus();
  }

  Status LookAtQueue() {
    const auto text = Slurm({"squeue", "-h", "-a", "-t", "all", "-o", "%i|%T|%N"});
    if (!text.ok()) return OkStatus();  // busy; the next look shows it
    const auto seen = ReadQueue(*text);
    for (SlurmTourJob& job : run_.jobs) {
      const auto found = seen.find(job.number);
      if (job.number == 0 || job.ended_s || found == seen.end()) continue;
      job.state = found->second.state;
      if (job.state == "RUNNING") {
        if (!open_.contains(job.number) || job.spans.back().hosts != found->second.hosts) {
          CloseSpan(&job);
          job.spans.push_back({found->second.hosts, Now(), Now()});
          open_.insert(job.number);
        }
        continue;
      }
      CloseSpan(&job);
      if (!IsFinal(job.state)) continue;
      if (job.state == "COMPLETED") job.ended_s = job.spans.empty() ? Now() : job.spans.back().end_s;
      if (job.state != "COMPLETED") {
        return Unavailable(fmt::format("job {} of the tour has ended as {}: {}", job.name, job.state, WhyOf(job)));
      }
    }
    return OkStatus();
  }

  // The end of what the job said.
  std::string WhyOf(const SlurmTourJob& job) const {
    std::string why;
    for (size_t run = 0; fs::exists(fmt::format("{}/run{}", FolderOf(job), run)); ++run) {
      why = ReadFileIfThere(fmt::format("{}/run{}/log", FolderOf(job), run));
      for (uint32_t worker = 0; worker < job.most; ++worker) {
        why += ReadFileIfThere(fmt::format("{}/run{}/{}.log", FolderOf(job), run, worker));
      }
    }
    return why.empty() ? "it printed nothing" : why.substr(why.size() - std::min<size_t>(why.size(), 600));
  }

  void CloseSpan(SlurmTourJob* job) {
    if (open_.erase(job->number) != 0) job->spans.back().end_s = Now();
  }

  SlurmTourJob& FrozenJob() {
    const auto found = std::ranges::find(run_.jobs, options_.frozen_job, &SlurmTourJob::name);
    return found == run_.jobs.end() ? run_.jobs.front() : *found;
  }

  size_t NumRuns(const SlurmTourJob& job) const {
    size_t runs = 0;
    while (fs::exists(fmt::format("{}/run{}", FolderOf(job), runs))) ++runs;
    return runs;
  }

  Status FreezeIfDue() {
    const SlurmTourJob& job = FrozenJob();
    if (Now() < options_.freeze_at_s || !open_.contains(job.number) || job.spans.back().hosts.size() < 2) {
      return OkStatus();
    }
    const size_t run = NumRuns(job) - 1;
    const auto first = FindFirstIteration(RecordsOf(job, run));
    if (!first || SteadySeconds() - first->ended_s < kSettleSeconds) return OkStatus();
    const std::string& host = job.spans.back().hosts[1];
    // It computes nothing any more, as if its GPU hung, and is alive for all that Slurm can see. (Stopped by a signal it
    // would only be watched: somebody may have a debugger on it.)
    const std::string control = fmt::format("{}/run{}/1.control", FolderOf(job), run);
    FL_RETURN_IF_ERROR(
        WriteFileAtomically(control, WriteWorkerControl({.pause_s = kTourHangSeconds}), Outlives::kProcess));
    run_.freeze = SlurmTourFreeze{.job = job.name, .host = host, .at_s = Now(), .finding = ""};
    frozen_run_ = run;
    return OkStatus();
  }

  // What Fairlead makes of it.
  Status FollowFreeze() {
    if (!run_.has_fairlead) return OkStatus();
    const auto findings = GetFindings(page_);
    if (findings.ok()) {
      for (const wire::LiveFinding& finding : *findings) NoteFinding(finding);
    }
    if (!run_.freeze) return OkStatus();
    SlurmTourFreeze& freeze = *run_.freeze;
    if (!freeze.isolated_s) {
      const auto drained = Slurm({"sinfo", "-h", "-N", "-n", freeze.host, "-o", "%T"});
      if (drained.ok() && drained->find("drain") != std::string::npos) freeze.isolated_s = Now() - freeze.at_s;
    }
    const SlurmTourJob& job = FrozenJob();
    const size_t runs = NumRuns(job);
    if (freeze.back_s || runs <= frozen_run_ + 1) return OkStatus();
    if (!freeze.isolated_s) {
      // It was about to get other hosts anyhow, and is well again before anybody could see it: another time.
      run_.freeze.reset();
      return OkStatus();
    }
    const auto first = FindFirstIteration(RecordsOf(job, frozen_run_ + 1));
    if (!first) return OkStatus();
    freeze.back_s = first->ended_s - begin_s_ - freeze.at_s;
    const auto last = FindLastIteration(ReadFileIfThere(RecordsOf(job, frozen_run_)));
    if (last && last->number >= first->number) freeze.lost_iterations = last->number + 1 - first->number;
    return OkStatus();
  }

  void NoteFinding(const wire::LiveFinding& finding) {
    if (!finding.confirmed_at_s || !known_.insert(finding.id).second) return;
    const bool is_it = run_.freeze && finding.hosts == std::vector{run_.freeze->host};
    if (!is_it) {
      run_.wrong_findings.push_back(finding.text);
    } else if (!run_.freeze->found_s) {
      run_.freeze->found_s = Now() - run_.freeze->at_s;
      run_.freeze->finding = finding.text;
    }
  }

  bool OnlyTheFrozenJobIsLeft() {
    return run_.freeze && std::ranges::all_of(run_.jobs, [&](const SlurmTourJob& job) {
             return job.ended_s || job.name == run_.freeze->job;
           });
  }

  void Tell() {
    const auto ended =
        std::ranges::count_if(run_.jobs, [](const SlurmTourJob& job) { return job.ended_s.has_value(); });
    std::string text = fmt::format("{}: {} of {} jobs done", run_.has_fairlead ? "with Fairlead" : "plain Slurm", ended,
                                   run_.jobs.size());
    if (run_.freeze && !run_.freeze->back_s) {
      text += fmt::format("; {} hangs on {}{}{}", run_.freeze->job, run_.freeze->host,
                          run_.freeze->found_s ? ", found" : "", run_.freeze->isolated_s ? ", isolated" : "");
    }
    say_(text, std::min(1.0, Now() / 90));
  }

  // Cancels what is left and waits for quiet hosts.
  Status EndAll() {
    for (const SlurmTourJob& job : run_.jobs) {
      if (job.number == 0 || job.ended_s) continue;
      static_cast<void>(Slurm({"scancel", std::to_string(job.number)}).ok());
    }
    const double end_s = SteadySeconds() + kQuietPatience;
    while (SteadySeconds() < end_s) {
      if (stop_) return Status(StatusCode::kCancelled, "stopped; nothing of the lab is left");
      const auto left = Slurm({"squeue", "-h", "-a", "-o", "%i"});
      if (left.ok() && left->empty()) return OkStatus();
      std::this_thread::sleep_for(kTourTick);
    }
    return Unavailable("jobs of the tour do not end after they were cancelled");
  }

  LabSession& session_;
  const SlurmTourOptions& options_;
  const std::string page_;  // of the controller; empty: there is none
  const std::function<void(const std::string&, double)> say_;
  const std::atomic<bool>& stop_;
  const std::string work_;
  SlurmTourRun run_;
  std::vector<uint64_t> iterations_;  // [job]
  std::set<uint32_t> open_;           // numbers of jobs whose last span goes on
  std::set<uint64_t> known_;          // findings
  size_t frozen_run_ = 0;
  double begin_s_ = 0;
};

Status CheckJobs(const std::string& file, const sim::Scenario& scenario) {
  if (scenario.jobs.empty()) return InvalidArgument(fmt::format("{}: expected jobs, found none", file));
  for (const sim::ScenarioJob& job : scenario.jobs) {
    if (job.job.elasticity.sizes.size() >= 2 && job.job.num_iterations > 0 && job.job.gpus_per_host > 0) continue;
    return InvalidArgument(
        fmt::format("{}: job {}: expected a range of sizes (min_gpus, max_gpus, with allocation: aiturbo) and a number "
                    "of iterations, as in scenarios/lab-slurm.yaml",
                    file, job.job.name));
  }
  return OkStatus();
}

}  // namespace

double SlurmTourRun::CompletionSeconds(const SlurmTourJob& job) const {
  return job.ended_s.value_or(length_s) - job.submitted_s;
}

double SlurmTourRun::MeanCompletionSeconds() const {
  double sum = 0;
  for (const SlurmTourJob& job : jobs) sum += CompletionSeconds(job);
  return jobs.empty() ? 0 : sum / static_cast<double>(jobs.size());
}

bool SlurmTourRun::HaveAllEnded() const {
  return std::ranges::all_of(jobs, [](const SlurmTourJob& job) { return job.ended_s.has_value(); });
}

uint32_t SlurmTourRun::NumRestarts() const {
  size_t restarts = 0;
  for (const SlurmTourJob& job : jobs) restarts += std::max<size_t>(job.spans.size(), 1) - 1;
  return static_cast<uint32_t>(restarts);
}

bool SlurmTour::IsAllRight() const {
  const auto& freeze = fairlead.freeze;
  return fairlead.HaveAllEnded() && fairlead.wrong_findings.empty() && freeze && freeze->found_s &&
         freeze->isolated_s && freeze->back_s;
}

Result<SlurmTour> RunSlurmTour(const std::string& file, const sim::Scenario& scenario, const SlurmTourOptions& options,
                               const SlurmTourProgress& progress, const std::atomic<bool>& stop) {
  FL_RETURN_IF_ERROR(CheckSlurm());
  FL_RETURN_IF_ERROR(CheckJobs(file, scenario));
  const double begin_s = SteadySeconds();
  SlurmTour tour{.title = scenario.title, .hosts = {}, .spare = "", .plain = {}, .fairlead = {}};
  for (HostId host(0u); host.index() < scenario.fabric.num_hosts(); host = HostId(host.index() + 1)) {
    tour.hosts.push_back(scenario.fabric.HostName(host));
  }
  tour.spare = tour.hosts.back();
  progress("starting the lab and its Slurm", 0);
  LabSessionOptions bare = options.session;
  bare.has_services = false;
  FL_ASSIGN_OR_RETURN(LabSession session, LabSession::Start(file, scenario, bare, stop));
  const std::string folder = session.folder().path();
  FL_RETURN_IF_ERROR(StartSlurm(session.state(), scenario.fabric, folder, {.pieces = options.pieces}, stop));
  const auto part = [&](double from, double share) {
    return [&progress, from, share](const std::string& what, double done) { progress(what, from + share * done); };
  };
  FL_ASSIGN_OR_RETURN(tour.plain, TourRun(&session, scenario, options, "", part(0.1, 0.4), stop).Run());
  progress("starting controller and agents", 0.5);
  FL_RETURN_IF_ERROR(
      RunSlurmProgram(session.state(), folder,
                      {"scontrol", "create", "reservation", fmt::format("ReservationName={}", kSlurmSpares),
                       "StartTime=now", "Duration=UNLIMITED", "Nodes=" + tour.spare, "Users=root", "Flags=IGNORE_JOBS"})
          .status());
  LabServicesOptions services{.http = ""};
  FL_ASSIGN_OR_RETURN(services.http, FindFreePage());
  services.controller_arguments = {"--policy", "crux+c4p"};
  for (const char* setting : kTourSettings) {
    services.controller_arguments.insert(services.controller_arguments.end(), {"--allocation-option", setting});
  }
  services.controller_arguments.insert(services.controller_arguments.end(), {"--slurm-restart", "4"});
  AddSlurmToServices(folder, {tour.spare}, &services);
  FL_RETURN_IF_ERROR(StartServices(session.state(), scenario.fabric, folder, services, stop));
  FL_RETURN_IF_ERROR(WaitForSlurmEngine(folder, stop));
  FL_ASSIGN_OR_RETURN(tour.fairlead, TourRun(&session, scenario, options, services.http, part(0.55, 0.45), stop).Run());
  tour.wall_s = SteadySeconds() - begin_s;
  return tour;
}

}  // namespace fairlead::lab
