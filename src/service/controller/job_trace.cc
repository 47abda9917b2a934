#include "service/controller/job_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/job_identity.h"
#include "report/trace_events.h"

namespace fairlead::service {

namespace {

constexpr int kProcess = 1;
constexpr int kIterations = 1, kFindings = 2, kEvents = 3;  // tracks

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

std::string TextOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<SimTime> TimeOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? std::optional(At(found->get<double>())) : std::nullopt;
}

// What happened at one moment.
struct Instant {
  SimTime at;
  std::string text;
};

std::vector<Instant> InstantsOf(const JobPast& past) {
  std::vector<Instant> instants;
  for (const Json& event : past.events) {
    const auto at = TimeOf(event, "time_s");
    if (at && TextOf(event, "subject") == "job " + past.name) instants.push_back({*at, TextOf(event, "text")});
  }
  const auto identity = model::ParseJobKey(past.name);
  const std::string short_name = identity.has_value() ? identity->name : past.name;
  for (const Json& line : past.log) {
    const auto at = TimeOf(line, "at_s");
    if (at && TextOf(line, "kind") == "action" && TextOf(line, "job_name") == short_name) {
      instants.push_back({*at, "steering: " + TextOf(line, "description")});
    }
  }
  std::ranges::stable_sort(instants, {}, &Instant::at);
  return instants;
}

// A block of iterations that findings share is one slice.
std::map<SimTime, double> BlocksOf(const JobPast& past) {
  std::map<SimTime, double> blocks;
  for (const wire::FindingDetail& detail : past.findings) {
    for (const wire::LiveBlock& block : detail.blocks) blocks[At(block.at_s)] = block.seconds;
  }
  return blocks;
}

SimTime BeginOf(const wire::LiveFinding& finding, SimTime now) {
  const std::optional<double> at = finding.suspected_at_s ? finding.suspected_at_s : finding.confirmed_at_s;
  return at ? At(*at) : now;
}

class JobTraceMaker {
 public:
  JobTraceMaker(const JobPast& past, SimTime now) : past_(past), now_(now) {}
  Json Make();

 private:
  SimTime Since(SimTime at) const { return SimTime(std::max<int64_t>(0, (at - origin_).ns())); }
  void AddCounter(SimTime at, const char* name, const char* unit, double value);
  void AddLooks();
  void AddBlocks(const std::map<SimTime, double>& blocks);
  void AddFindings();

  const JobPast& past_;
  const SimTime now_;
  SimTime origin_;
  report::TraceEvents events_;
};

void JobTraceMaker::AddCounter(SimTime at, const char* name, const char* unit, double value) {
  events_.Add({{"ph", "C"},
               {"pid", kProcess},
               {"ts", report::TraceTime(Since(at))},
               {"name", name},
               {"args", {{unit, value}}}});
}

void JobTraceMaker::AddLooks() {
  for (const JobLooks::Look& look : past_.looks) {
    if (look.iteration_time) AddCounter(look.at, "iteration", "ms", look.iteration_time->value() * 1e3);
    AddCounter(look.at, "level", "level", look.level);
    AddCounter(look.at, "GPUs lost", "GPUs", look.lost_gpus);
  }
}

// They end when all of them is known; the next one may not begin before that.
void JobTraceMaker::AddBlocks(const std::map<SimTime, double>& blocks) {
  SimTime free_from = origin_;
  for (const auto& [end, seconds] : blocks) {
    const SimTime begin = std::max(free_from, SimTime(end.ns() - SimDuration::FromSeconds(Seconds(seconds)).ns()));
    if (begin >= end) continue;
    events_.AddSlice(kProcess, kIterations, Since(begin), Since(end), "block of iterations", {{"seconds", seconds}});
    free_from = end;
  }
}

void JobTraceMaker::AddFindings() {
  for (size_t i = 0; i < past_.findings.size(); ++i) {
    const wire::LiveFinding& finding = past_.findings[i].finding;
    const SimTime begin = BeginOf(finding, now_);
    const SimTime end = std::max(begin, finding.cleared_at_s ? At(*finding.cleared_at_s) : now_);
    // Each has a track of its own: they may overlap.
    const int track = kEvents + 1 + static_cast<int>(i);
    events_.NameTrack(kProcess, track, fmt::format("finding {}", finding.id));
    events_.AddSlice(kProcess, track, Since(begin), Since(end), finding.text,
                     {{"syndrome", finding.syndrome},
                      {"culprits", finding.culprits},
                      {"hosts", finding.hosts},
                      {"advice", finding.action}});
  }
}

Json JobTraceMaker::Make() {
  const std::map<SimTime, double> blocks = BlocksOf(past_);
  const std::vector<Instant> instants = InstantsOf(past_);
  origin_ = now_;
  for (const JobLooks::Look& look : past_.looks) origin_ = std::min(origin_, look.at);
  for (const auto& [end, seconds] : blocks) {
    origin_ = std::min(origin_, SimTime(end.ns() - SimDuration::FromSeconds(Seconds(seconds)).ns()));
  }
  for (const wire::FindingDetail& detail : past_.findings) origin_ = std::min(origin_, BeginOf(detail.finding, now_));
  for (const Instant& instant : instants) origin_ = std::min(origin_, instant.at);
  events_.NameProcess(kProcess, "job " + past_.name);
  events_.NameTrack(kProcess, kIterations, "iterations");
  events_.NameTrack(kProcess, kEvents, "events");
  AddLooks();
  AddBlocks(blocks);
  AddFindings();
  for (const Instant& instant : instants) {
    events_.Add({{"ph", "i"},
                 {"s", "t"},
                 {"pid", kProcess},
                 {"tid", kEvents},
                 {"ts", report::TraceTime(Since(instant.at))},
                 {"name", instant.text}});
  }
  return Json::parse(events_.Render({{"job", past_.name}, {"origin_s", origin_.seconds().value()}}));
}

}  // namespace

void JobLooks::Add(SimTime now, std::span<const controller::JobOnFabric> jobs) {
  for (const controller::JobOnFabric& job : jobs) {
    if (!looks_.contains(job.name) && looks_.size() >= num_jobs_max_) {
      const auto oldest = std::ranges::min_element(looks_, {}, [](const auto& one) { return one.second.back().at; });
      if (oldest->second.back().at == now) continue;  // all are of jobs that run
      looks_.erase(oldest);
    }
    std::deque<Look>& looks = looks_[job.name];
    looks.push_back({now, job.iteration_time, job.level, job.lost_gpus().value_or(0)});
    if (looks.size() > num_looks_max_) looks.pop_front();
  }
}

std::vector<JobLooks::Look> JobLooks::Of(const std::string& job) const {
  const auto found = looks_.find(job);
  return found == looks_.end() ? std::vector<Look>() : std::vector<Look>(found->second.begin(), found->second.end());
}

Result<Json> JobTrace(const JobPast& past, SimTime now) {
  if (past.looks.empty() && past.findings.empty() && InstantsOf(past).empty()) {
    return NotFound(fmt::format("nothing is known of a job '{}'; names are those of /v1/jobs", past.name));
  }
  return JobTraceMaker(past, now).Make();
}

}  // namespace fairlead::service
