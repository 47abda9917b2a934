#include "lab/lab_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/statistics.h"
#include "lab/lab_plan.h"
#include "report/number_format.h"
#include "report/trace_events.h"
#include "version.h"

namespace fairlead::lab {

namespace {

using report::Json;

constexpr int kLabProcess = 1;
constexpr int kLinksProcess = 2;
constexpr int kFirstJobProcess = 3;
constexpr int kRunTrack = 1, kNotesTrack = 2, kFirstFreeTrack = 3;

constexpr double kLateFactor = 1.25;
constexpr size_t kNumUsualMin = 3;
constexpr size_t kNumUsualMax = 20;

struct RecordedPhase {
  size_t phase = 0;
  TimeSpan span;  // of the monotonic clock, as all below
};

struct RecordedIteration {
  uint64_t number = 0;
  bool is_over = true;
  TimeSpan span;
  double exposed_s = 0;
  std::vector<RecordedPhase> phases;
  std::vector<TimeSpan> stalls;

  double seconds() const { return span.to_s - span.from_s; }
  size_t num_events() const { return 2 + phases.size() + 2 * stalls.size(); }
};

// Nothing: it is another record, or half a line.
std::optional<RecordedIteration> ReadIteration(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const bool is_over = json.contains("iteration");
  const char* const key = is_over ? "iteration" : "unfinished";
  const auto has_number = [&](const char* name) { return json.contains(name) && json[name].is_number(); };
  if (!has_number(key) || !has_number("begin_s") || !has_number("seconds")) return std::nullopt;
  RecordedIteration iteration{.number = json[key], .is_over = is_over, .span = {}, .phases = {}, .stalls = {}};
  iteration.span.from_s = json["begin_s"];
  iteration.span.to_s = iteration.span.from_s + std::max(0.0, json["seconds"].get<double>());
  if (has_number("exposed_s")) iteration.exposed_s = json["exposed_s"];
  // What is written with six digits may stick out by a microsecond.
  const auto span_of = [&](const Json& from, const Json& to) {
    const auto at = [&](const Json& offset) {
      return std::clamp(iteration.span.from_s + offset.get<double>(), iteration.span.from_s, iteration.span.to_s);
    };
    return TimeSpan{at(from), std::max(at(from), at(to))};
  };
  const auto is_row = [](const Json& row, size_t size) {
    return row.is_array() && row.size() == size &&
           std::ranges::all_of(row, [](const Json& n) { return n.is_number(); });
  };
  for (const Json& row : json.value("phases", Json::array())) {
    if (is_row(row, 3)) iteration.phases.push_back({row[0].get<size_t>(), span_of(row[1], row[2])});
  }
  for (const Json& row : json.value("stalls", Json::array())) {
    if (is_row(row, 2)) iteration.stalls.push_back(span_of(row[0], row[1]));
  }
  return iteration;
}

std::vector<RecordedIteration> ReadIterations(const std::string& records) {
  std::vector<RecordedIteration> iterations;
  std::istringstream lines(records);
  for (std::string line; std::getline(lines, line);) {
    if (auto iteration = ReadIteration(line)) iterations.push_back(std::move(*iteration));
  }
  return iterations;
}

// What went bad, from then to then.
struct BadTime {
  TimeSpan span;
  std::string text;
  CableId cable;                                         // invalid: it is no cable's
  std::optional<std::pair<size_t, size_t>> worker = {};  // [job], [worker]: a process
  bool is_older = false;                                 // than the run: nobody knows what was usual before
};

// Where an arrow leads.
struct LateIteration {
  size_t worker = 0;
  const RecordedIteration* iteration = nullptr;
  double usual_s = 0;
};

class LabTimelineMaker {
 public:
  LabTimelineMaker(const LabState& state, const LabRecording& recording, size_t num_events_max)
      : state_(state), plan_(state.plan), recording_(recording), num_events_max_(num_events_max) {}

  LabTimeline Make() {
    ReadJobs();
    AddRun();
    AddNotes();
    AddLinks();
    for (size_t j = 0; j < recording_.jobs.size(); ++j) AddJob(j);
    AddBadTimes();
    const Json measured = recording_.measured
                              ? Json{Since(recording_.measured->from_s), Since(recording_.measured->to_s)}
                              : Json(nullptr);
    return {.text = events_.Render({{"lab", state_.name},
                                    {"source", state_.source},
                                    {"scale", plan_.options.scale},
                                    {"origin_unix_s", recording_.begin_s + recording_.unix_offset_s},
                                    {"measured_us", measured},
                                    {"iterations_left_out", num_left_out_},
                                    {"fairlead", std::string(kVersion)}}),
            .num_iterations_left_out = num_left_out_};
  }

 private:
  SimTime At(double at_s) const { return SimTime::FromSeconds(Seconds(std::max(0.0, at_s - recording_.begin_s))); }
  double Since(double at_s) const { return report::TraceTime(At(at_s)); }
  static int ProcessOf(size_t job) { return kFirstJobProcess + static_cast<int>(job); }
  static int IterationsTrack(size_t worker) { return static_cast<int>(2 * worker) + 1; }
  static int PhasesTrack(size_t worker) { return IterationsTrack(worker) + 1; }

  void ReadJobs() {
    size_t num_workers = 0;
    for (const JobRecording& job : recording_.jobs) num_workers += job.workers.size();
    const size_t budget = num_events_max_ / std::max<size_t>(1, num_workers);
    for (const JobRecording& job : recording_.jobs) {
      jobs_.emplace_back();
      for (const WorkerRecording& worker : job.workers) {
        std::vector<RecordedIteration> iterations = ReadIterations(worker.records);
        size_t num_events = 0;
        auto first = iterations.end();
        while (first != iterations.begin() && (num_events += std::prev(first)->num_events()) <= budget) --first;
        num_left_out_ += static_cast<uint64_t>(first - iterations.begin());
        iterations.erase(iterations.begin(), first);
        jobs_.back().push_back(std::move(iterations));
      }
    }
  }

  void AddInstant(int process, int track, double at_s, std::string_view name, Json args = {}) {
    Json event = {{"ph", "i"}, {"s", "t"}, {"pid", process}, {"tid", track}, {"ts", Since(at_s)}, {"name", name}};
    if (!args.empty()) event["args"] = std::move(args);
    events_.Add(event);
  }

  void AddRun() {
    events_.NameProcess(kLabProcess, fmt::format("lab {}", state_.name));
    events_.NameTrack(kLabProcess, kRunTrack, "run");
    const double first_end_s = recording_.measured ? recording_.measured->from_s : recording_.end_s;
    events_.AddSlice(kLabProcess, kRunTrack, At(recording_.begin_s), At(first_end_s), "start and warm-up", {});
    if (!recording_.measured) return;
    events_.AddSlice(kLabProcess, kRunTrack, At(first_end_s), At(recording_.measured->to_s), "measured", {});
  }

  void AddNotes() {
    if (recording_.events.empty() && recording_.findings.empty()) return;
    events_.NameTrack(kLabProcess, kNotesTrack, "controller");
    for (const wire::LiveEvent& event : recording_.events) {
      AddInstant(kLabProcess, kNotesTrack, *event.time_s - recording_.unix_offset_s,
                 fmt::format("{}: {}", event.subject, event.text), {{"severity", event.severity}});
    }
    for (const wire::LiveFinding& finding : recording_.findings) {
      const int track = next_track_++;
      const double from_s = finding.suspected_at_s.value_or(*finding.confirmed_at_s) - recording_.unix_offset_s;
      const double to_s = finding.cleared_at_s ? *finding.cleared_at_s - recording_.unix_offset_s : recording_.end_s;
      events_.NameTrack(kLabProcess, track, fmt::format("finding {}", finding.id));
      events_.AddSlice(kLabProcess, track, At(from_s), At(std::max(from_s, to_s)), finding.text,
                       {{"syndrome", finding.syndrome},
                        {"culprits", finding.culprits},
                        {"hosts", finding.hosts},
                        {"advice", finding.action}});
    }
  }

  // "leaf0->spine1", what that end sends.
  std::string DirectionName(CableId cable, size_t end) const {
    const LabCable& wire = plan_.cables[cable];
    const std::string name = CableName(plan_, cable);
    const size_t parallel = name.find('#');
    return plan_.nodes[wire.ends[end].node].name + "->" + plan_.nodes[wire.ends[1 - end].node].name +
           (parallel == name.npos ? "" : name.substr(parallel));
  }

  // A value holds from one sample to the next one.
  void AddLinks() {
    events_.NameProcess(kLinksProcess, "links");
    for (CableId cable(0u); cable.index() < plan_.cables.size(); cable = CableId(cable.index() + 1)) {
      for (const size_t end : {size_t{0}, size_t{1}}) AddLink(cable, end);
    }
  }

  void AddLink(CableId cable, size_t end) {
    const auto& samples = recording_.samples;
    const auto sent = [&](size_t i) { return samples[i].sent_bytes[cable][end]; };
    if (samples.size() < 2 || sent(0) == sent(samples.size() - 1)) return;
    const std::string name = DirectionName(cable, end);
    std::optional<double> last;
    for (size_t i = 0; i + 1 < samples.size(); ++i) {
      const double seconds = samples[i + 1].at_s - samples[i].at_s;
      if (seconds <= 0) continue;
      const double bytes_per_s = static_cast<double>(sent(i + 1) - sent(i)) / seconds;
      const double gbps = bytes_per_s * 8e-9 / plan_.options.scale;
      if (last == gbps) continue;
      last = gbps;
      events_.Add({{"ph", "C"},
                   {"pid", kLinksProcess},
                   {"ts", Since(samples[i].at_s)},
                   {"name", name},
                   {"args", {{"Gb/s", gbps}}}});
    }
  }

  void AddJob(size_t j) {
    const JobRecording& job = recording_.jobs[j];
    const int process = ProcessOf(j);
    events_.NameProcess(process,
                        fmt::format("job {}, {}", job.name, report::FormatCount(job.workers.size(), "worker")));
    for (size_t w = 0; w < job.workers.size(); ++w) {
      const WorkerRecording& worker = job.workers[w];
      const std::string name = fmt::format("worker {} on {}", w, worker.host);
      events_.NameTrack(process, IterationsTrack(w), name);
      events_.NameTrack(process, PhasesTrack(w), name + ": communication");
      double free_from_s = recording_.begin_s;
      for (const RecordedIteration& iteration : jobs_[j][w]) AddIteration(j, w, iteration, &free_from_s);
      if (worker.failed_at_s) {
        AddInstant(process, IterationsTrack(w), *worker.failed_at_s, "its process ended: " + worker.failure);
      }
    }
  }

  void AddIteration(size_t j, size_t w, const RecordedIteration& iteration, double* free_from_s) {
    const JobRecording& job = recording_.jobs[j];
    const int process = ProcessOf(j);
    const int track = IterationsTrack(w);
    const double from_s = std::max(iteration.span.from_s, *free_from_s);
    const double to_s = std::max(iteration.span.to_s, from_s);
    *free_from_s = to_s;
    events_.AddSlice(process, track, At(from_s), At(to_s),
                     fmt::format("iteration {}{}", iteration.number, iteration.is_over ? "" : ": not over at the end"),
                     {{"seconds", iteration.seconds()}, {"exposed_s", iteration.exposed_s}});
    const auto add = [&](double from, double to, const std::string& name) {
      from = std::clamp(from, from_s, to_s);
      to = std::clamp(to, from, to_s);
      if (At(from) < At(to)) events_.AddSlice(process, track, At(from), At(to), name, {});
    };
    double computes_from_s = from_s;
    for (const TimeSpan& stall : iteration.stalls) {
      add(computes_from_s, stall.from_s, "compute");
      add(stall.from_s, stall.to_s, "waits for " + AwaitedBy(job, iteration, stall));
      computes_from_s = stall.to_s;
    }
    // Without phases in the records it is not known when it computed.
    if (!iteration.phases.empty() || !iteration.stalls.empty() || iteration.exposed_s == 0) {
      add(computes_from_s, to_s, "compute");
    }
    double phase_from_s = from_s;
    for (const RecordedPhase& phase : iteration.phases) {
      const double begin_s = std::clamp(phase.span.from_s, phase_from_s, to_s);
      phase_from_s = std::clamp(phase.span.to_s, begin_s, to_s);
      events_.AddSlice(process, PhasesTrack(w), At(begin_s), At(phase_from_s), PhaseName(job, phase.phase), {});
    }
  }

  static std::string PhaseName(const JobRecording& job, size_t phase) {
    return phase < job.phases.size() ? job.phases[phase] : fmt::format("phase {}", phase);
  }

  // The phases that ran while compute stood still: the first one, and how many more.
  static std::string AwaitedBy(const JobRecording& job, const RecordedIteration& iteration, const TimeSpan& stall) {
    std::string first;
    size_t count = 0;
    for (const RecordedPhase& phase : iteration.phases) {
      if (phase.span.to_s <= stall.from_s || phase.span.from_s >= stall.to_s) continue;
      if (count++ == 0) first = PhaseName(job, phase.phase);
    }
    if (count == 0) return "communication";
    return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
  }

  // ---- What went bad ----

  std::string DescribeChange(CableId cable, std::optional<size_t> end, double health) const {
    const std::string name = end ? DirectionName(cable, *end) : CableName(plan_, cable);
    return health <= 0 ? name + " is cut" : fmt::format("{} has {:g} of its speed", name, health);
  }

  std::vector<BadTime> BadTimes() const {
    std::vector<BadTime> times;
    // [cable, end; 2: both] the one that holds
    std::map<std::pair<CableId, size_t>, BadTime> open;
    const auto close = [&](CableId cable, size_t which, double at_s) {
      const auto found = open.find({cable, which});
      if (found == open.end()) return;
      found->second.span.to_s = at_s;
      times.push_back(std::move(found->second));
      open.erase(found);
    };
    const auto change = [&](const CableChange& what, CableId cable, bool is_older) {
      const size_t which = what.end.value_or(2);
      for (size_t other = 0; other < 3; ++other) {
        // A new speed of the whole cable is that of both of its ends.
        if (other == which || which == 2) close(cable, other, what.at_s);
      }
      if (what.health >= 1) return;
      open[{cable, which}] = {.span = {what.at_s, what.at_s},
                              .text = DescribeChange(cable, what.end, what.health),
                              .cable = cable,
                              .is_older = is_older};
    };
    for (CableId cable(0u); cable.index() < recording_.health.size(); cable = CableId(cable.index() + 1)) {
      change({.at_s = recording_.begin_s, .cable = "", .end = {}, .health = recording_.health[cable]}, cable, true);
    }
    for (const CableChange& one : recording_.changes) {
      if (const CableId cable = FindCable(plan_, one.cable); cable.valid()) change(one, cable, false);
    }
    while (!open.empty()) close(open.begin()->first.first, open.begin()->first.second, recording_.end_s);
    for (size_t j = 0; j < recording_.jobs.size(); ++j) {
      for (size_t w = 0; w < recording_.jobs[j].workers.size(); ++w) {
        for (const TimeSpan& span : recording_.jobs[j].workers[w].stopped) {
          times.push_back({.span = span,
                           .text = fmt::format("worker {} of job {} is stopped", w, recording_.jobs[j].name),
                           .cable = CableId(),
                           .worker = std::pair(j, w)});
        }
      }
    }
    std::ranges::stable_sort(times, {}, [](const BadTime& time) { return time.span.from_s; });
    return times;
  }

  bool Concerns(const BadTime& bad, size_t j) const {
    if (bad.worker) return bad.worker->first == j;
    const JobRecording& job = recording_.jobs[j];
    if (job.own_cables.contains(bad.cable)) return true;
    // What it used when the cable went bad: then it may have been moved.
    const auto next = std::ranges::upper_bound(job.used, bad.span.from_s, {}, &UsedCables::at_s);
    return next != job.used.begin() && std::prev(next)->cables.contains(bad.cable);
  }

  static std::optional<LateIteration> FirstLateOf(const std::vector<RecordedIteration>& iterations, size_t worker,
                                                  const TimeSpan& bad) {
    std::vector<double> usual;
    for (const RecordedIteration& iteration : iterations) {
      if (iteration.span.to_s <= bad.from_s) {
        usual.push_back(iteration.seconds());
        continue;
      }
      if (iteration.span.from_s > bad.to_s || usual.size() < kNumUsualMin) return std::nullopt;
      const std::vector<double> last(usual.end() - static_cast<ptrdiff_t>(std::min(usual.size(), kNumUsualMax)),
                                     usual.end());
      const double usual_s = Median(last);
      if (iteration.seconds() > kLateFactor * usual_s) return LateIteration{worker, &iteration, usual_s};
    }
    return std::nullopt;
  }

  // Of the worker whose first late one begins first; of those the longest.
  std::optional<LateIteration> FirstLate(size_t j, const TimeSpan& bad) const {
    std::optional<LateIteration> first;
    for (size_t w = 0; w < jobs_[j].size(); ++w) {
      const auto late = FirstLateOf(jobs_[j][w], w, bad);
      if (!late) continue;
      const bool is_before = first && (late->iteration->number < first->iteration->number ||
                                       (late->iteration->number == first->iteration->number &&
                                        late->iteration->seconds() > first->iteration->seconds()));
      if (!first || is_before) first = late;
    }
    return first;
  }

  void AddBadTimes() {
    // Times of one cable follow each other on a track.
    std::map<CableId, int> track_of;
    for (const BadTime& bad : BadTimes()) {
      int track = 0;
      if (bad.cable.valid() && !HasOtherDirection(bad)) {
        const auto [found, is_new] = track_of.try_emplace(bad.cable, next_track_);
        track = found->second;
        if (is_new) events_.NameTrack(kLabProcess, next_track_++, "cable " + CableName(plan_, bad.cable));
      } else {
        track = next_track_++;
        events_.NameTrack(kLabProcess, track, bad.text);
      }
      std::vector<std::pair<size_t, LateIteration>> late;
      for (size_t j = 0; j < recording_.jobs.size(); ++j) {
        if (bad.is_older || !Concerns(bad, j)) continue;
        if (const auto first = FirstLate(j, bad.span)) late.emplace_back(j, *first);
      }
      Json delayed = Json::array();
      for (const auto& [j, first] : late) {
        delayed.push_back({{"job", recording_.jobs[j].name},
                           {"iteration", first.iteration->number},
                           {"seconds", first.iteration->seconds()},
                           {"usual_s", first.usual_s}});
      }
      Json args = {{"delays", std::move(delayed)}};
      if (bad.is_older) args["since"] = "before the run";
      events_.AddSlice(kLabProcess, track, At(bad.span.from_s), At(bad.span.to_s), bad.text, std::move(args));
      for (const auto& [j, first] : late) AddArrow(bad, track, j, first);
    }
  }

  // One direction may be slow while the other one, or both, is another way.
  static bool HasOtherDirection(const BadTime& bad) { return bad.text.find("->") != std::string::npos; }

  void AddArrow(const BadTime& bad, int track, size_t j, const LateIteration& late) {
    const std::string id = fmt::format("bad.{}", ++num_arrows_);
    const auto add = [&](const char* kind, int process, int of_track, double at_s) {
      Json event = {{"ph", kind}, {"pid", process}, {"tid", of_track}, {"ts", Since(at_s)},
                    {"id", id},   {"cat", "cause"}, {"name", "delays"}};
      if (*kind == 'f') event["bp"] = "e";
      events_.Add(event);
    };
    add("s", kLabProcess, track, bad.span.from_s);
    add("f", ProcessOf(j), IterationsTrack(late.worker), std::max(bad.span.from_s, late.iteration->span.from_s));
  }

  const LabState& state_;
  const LabPlan& plan_;
  const LabRecording& recording_;
  const size_t num_events_max_;
  std::vector<std::vector<std::vector<RecordedIteration>>> jobs_;  // [job][worker]
  report::TraceEvents events_;
  int next_track_ = kFirstFreeTrack;
  uint64_t num_left_out_ = 0;
  uint64_t num_arrows_ = 0;
};

}  // namespace

LabTimeline RenderLabTimeline(const LabState& state, const LabRecording& recording, size_t num_events_max) {
  return LabTimelineMaker(state, recording, num_events_max).Make();
}

}  // namespace fairlead::lab
