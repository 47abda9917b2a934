#include "report/trace_events.h"

#include <fmt/format.h>

#include <utility>

namespace fairlead::report {

namespace {

std::string OneLine(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

void TraceEvents::Add(const Json& event) {
  lines_ += lines_.empty() ? "\n" : ",\n";
  lines_ += OneLine(event);
}

void TraceEvents::NameProcess(int process, const std::string& name) {
  Add({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
  Add({{"ph", "M"}, {"pid", process}, {"name", "process_sort_index"}, {"args", {{"sort_index", process}}}});
}

void TraceEvents::NameTrack(int process, int track, const std::string& name) {
  Add({{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}});
  Add({{"ph", "M"},
       {"pid", process},
       {"tid", track},
       {"name", "thread_sort_index"},
       {"args", {{"sort_index", track}}}});
}

void TraceEvents::AddSlice(int process, int track, SimTime from, SimTime to, std::string_view name, Json args) {
  Json event = {{"ph", "X"},
                {"pid", process},
                {"tid", track},
                {"ts", TraceTime(from)},
                {"dur", static_cast<double>((to - from).ns()) * 1e-3},
                {"name", name}};
  if (!args.empty()) event["args"] = std::move(args);
  Add(event);
}

std::string TraceEvents::Render(const Json& about) const {
  return fmt::format("{{\"displayTimeUnit\": \"ms\",\n\"otherData\": {},\n\"traceEvents\": [{}\n]}}\n", OneLine(about),
                     lines_);
}

}  // namespace fairlead::report
