#include "report/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

namespace fairlead::report {

namespace {

using Track = std::pair<int, int>;

// Microseconds; half a nanosecond is less than timelines are exact to.
constexpr double kTraceSlack = 5e-4;

struct TracedSlice {
  double from = 0;
  double to = 0;
};

bool IsTime(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() && std::isfinite(found->get<double>()) && found->get<double>() >= 0;
}

bool IsText(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() && !found->get<std::string>().empty();
}

bool IsWhole(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_integer();
}

class TraceChecker {
 public:
  std::string Check(const Json& trace) {
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      return "expected an object with a list traceEvents";
    }
    for (const Json& event : trace["traceEvents"]) {
      const std::string error = CheckEvent(event);
      if (!error.empty()) return error + ": " + event.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    for (const auto& [process, event] : seen_processes_) {
      if (!named_processes_.contains(process)) return "a process without a name: " + event;
    }
    for (const auto& [track, event] : seen_tracks_) {
      if (!named_tracks_.contains(track)) return "a track without a name: " + event;
    }
    for (auto& [track, slices] : slices_) {
      if (!AreNested(slices)) {
        return "slices that overlap on track " + std::to_string(track.second) + " of process " +
               std::to_string(track.first);
      }
    }
    return CheckArrows();
  }

 private:
  std::string CheckEvent(const Json& event) {
    if (!event.is_object() || !IsText(event, "ph") || !IsWhole(event, "pid") || !IsText(event, "name")) {
      return "expected ph, pid and name";
    }
    const std::string kind = event["ph"];
    const int process = event["pid"];
    const std::string text = event.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (kind == "M") return CheckName(event);
    seen_processes_.try_emplace(process, text);
    if (!IsTime(event, "ts")) return "expected ts, at least 0";
    const double at = event["ts"];
    if (kind == "C") {
      if (!event.contains("args") || !event["args"].is_object() || event["args"].empty() ||
          !std::ranges::all_of(event["args"], [](const Json& value) { return value.is_number(); })) {
        return "expected args with numbers";
      }
      const auto [last, is_new] = counters_.try_emplace({process, event["name"].get<std::string>()}, at);
      if (!is_new && at < last->second) return "a counter that goes back in time";
      last->second = at;
      return "";
    }
    if (!IsWhole(event, "tid")) return "expected tid";
    const Track track(process, event["tid"].get<int>());
    if (kind == "i") {
      if (event.value("s", "") != "p" && event.value("s", "") != "t") return "expected s: p or t";
      if (event["s"] == "t") seen_tracks_.try_emplace(track, text);
      return "";
    }
    seen_tracks_.try_emplace(track, text);
    if (kind == "X") {
      if (!IsTime(event, "dur")) return "expected dur, at least 0";
      slices_[track].push_back({at, at + event["dur"].get<double>()});
      return "";
    }
    if (kind != "s" && kind != "f") return "an unknown kind";
    if (!IsText(event, "id") || !IsText(event, "cat")) return "expected id and cat";
    if (kind == "f" && event.value("bp", "") != "e") return "expected bp: e";
    auto& ends = kind == "s" ? begins_ : ends_;
    return ends.try_emplace(event["id"], std::pair(track, at)).second ? "" : "an arrow with two of these";
  }

  std::string CheckName(const Json& event) {
    static const std::set<std::string> kKinds = {"process_name", "process_sort_index", "thread_name",
                                                 "thread_sort_index"};
    if (!kKinds.contains(event["name"])) return "an unknown kind of name";
    if (event["name"] == "process_name") named_processes_.insert(event["pid"].get<int>());
    if (event["name"] == "thread_name") named_tracks_.emplace(event["pid"].get<int>(), event["tid"].get<int>());
    return "";
  }

  // By begin, the longer first: then each ends before what encloses it.
  static bool AreNested(std::vector<TracedSlice>& slices) {
    std::ranges::sort(slices, [](const TracedSlice& a, const TracedSlice& b) {
      return a.from != b.from ? a.from < b.from : a.to > b.to;
    });
    std::vector<double> open;
    for (const TracedSlice& slice : slices) {
      while (!open.empty() && open.back() <= slice.from + kTraceSlack) open.pop_back();
      if (!open.empty() && slice.to > open.back() + kTraceSlack) return false;
      open.push_back(slice.to);
    }
    return true;
  }

  bool IsInSlice(const std::pair<Track, double>& end) const {
    const auto slices = slices_.find(end.first);
    return slices != slices_.end() && std::ranges::any_of(slices->second, [&](const TracedSlice& slice) {
             return slice.from - kTraceSlack <= end.second && end.second <= slice.to + kTraceSlack;
           });
  }

  std::string CheckArrows() const {
    for (const auto& [id, begin] : begins_) {
      const auto end = ends_.find(id);
      if (end == ends_.end()) return "arrow " + id + " has no end";
      if (!IsInSlice(begin) || !IsInSlice(end->second)) return "arrow " + id + " has an end in no slice";
      if (end->second.second < begin.second) return "arrow " + id + " leads back in time";
    }
    return begins_.size() == ends_.size() ? "" : "an arrow without a begin";
  }

  std::map<int, std::string> seen_processes_;
  std::map<Track, std::string> seen_tracks_;
  std::set<int> named_processes_;
  std::set<Track> named_tracks_;
  std::map<Track, std::vector<TracedSlice>> slices_;
  std::map<std::pair<int, std::string>, double> counters_;
  std::map<std::string, std::pair<Track, double>> begins_;
  std::map<std::string, std::pair<Track, double>> ends_;
};

}  // namespace

std::string FindTraceError(const Json& trace) { return TraceChecker().Check(trace); }

}  // namespace fairlead::report
