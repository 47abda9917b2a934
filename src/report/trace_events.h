// Events of a timeline in Chrome's trace event format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing
// show.
//
// A process is a group of tracks, a track (tid) holds slices that do not overlap, or lie within each other. `ts` and
// `dur` are microseconds.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/sim_time.h"
#include "report/json_value.h"

namespace fairlead::report {

inline double TraceTime(SimTime at) { return static_cast<double>(at.ns()) * 1e-3; }

// Kept as text, one event a line: a million of them take 150 MB.
class TraceEvents {
 public:
  // Args: event: with "ph", "pid" and what its kind needs. Broken UTF-8 becomes U+FFFD.
  void Add(const Json& event);
  // Processes are shown in the order of their numbers.
  void NameProcess(int process, const std::string& name);
  void NameTrack(int process, int track, const std::string& name);
  // Args: from <= to.
  void AddSlice(int process, int track, SimTime from, SimTime to, std::string_view name, Json args);

  // The file. Args: about: what readers may want to know, an object.
  std::string Render(const Json& about) const;

 private:
  std::string lines_;
};

}  // namespace fairlead::report
