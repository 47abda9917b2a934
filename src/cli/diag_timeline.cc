#include "cli/diag_timeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "diagnosis/c4d/wording.h"
#include "report/trace_events.h"

namespace fairlead::cli {

namespace {

using report::Json;

constexpr int kFindings = 1;  // process; those of hosts follow

struct Slice {
  SimTime from;
  SimTime to;
  std::string name;
  Json args;
};

// [slice] the number of its track: the first in which it overlaps no other. Args: slices by `from`.
std::vector<int> SpreadOverTracks(const std::vector<Slice>& slices) {
  std::vector<SimTime> free_from;  // [track]
  std::vector<int> tracks;
  for (const Slice& slice : slices) {
    const auto track = std::ranges::find_if(free_from, [&](SimTime at) { return at <= slice.from; });
    tracks.push_back(static_cast<int>(track - free_from.begin()));
    if (track == free_from.end()) {
      free_from.push_back(slice.to);
    } else {
      *track = slice.to;
    }
  }
  return tracks;
}

// The first number of a process's tracks that is free.
class Tracks {
 public:
  explicit Tracks(report::TraceEvents* events) : events_(events) {}

  // Slices in as many tracks as they need, all of that name.
  void Add(int process, const std::string& name, std::vector<Slice> slices, SimTime origin) {
    std::ranges::stable_sort(slices, {}, &Slice::from);
    const std::vector<int> tracks = SpreadOverTracks(slices);
    int& first = first_free_.try_emplace(process, 1).first->second;
    const int num_tracks = slices.empty() ? 0 : *std::ranges::max_element(tracks) + 1;
    for (int track = 0; track < num_tracks; ++track) events_->NameTrack(process, first + track, name);
    for (size_t i = 0; i < slices.size(); ++i) {
      Slice& slice = slices[i];
      events_->AddSlice(process, first + tracks[i], SimTime((slice.from - origin).ns()),
                        SimTime((slice.to - origin).ns()), slice.name, std::move(slice.args));
    }
    first += num_tracks;
  }

 private:
  report::TraceEvents* events_;
  std::map<int, int> first_free_;  // [process]
};

SimTime BeginOf(const model::OperationRecord& operation) { return operation.started.value_or(operation.enqueued); }

Slice SliceOf(const model::OperationRecord& operation, const model::JobLayout& layout, SimTime end) {
  Slice slice{
      .from = BeginOf(operation),
      .to = operation.finished.value_or(end),
      .name = diagnosis::c4d::DescribeOperation(layout, operation.communicator, operation.kind, operation.sequence),
      .args = Json::object()};
  // Clocks of hosts differ: an operation may seem to begin after the last report.
  slice.to = std::max(slice.to, slice.from);
  if (!operation.finished) slice.name += operation.started ? ": not over at the end" : ": not begun at the end";
  if (operation.bytes > 0) slice.args["bytes"] = operation.bytes;
  if (operation.peer.valid()) slice.args["peer"] = operation.peer.value();
  if (operation.started) slice.args["waited_s"] = (*operation.started - operation.enqueued).seconds().value();
  return slice;
}

Slice SliceOf(const model::Finding& finding, const DiagReport& report, SimTime end) {
  std::string name(model::Name(finding.syndrome));
  for (const model::Culprit& culprit : finding.culprits) name += ": " + CulpritName(culprit, report);
  Json args = {
      {"summary", finding.summary}, {"confidence", finding.confidence}, {"action", model::Name(finding.action)}};
  if (finding.confirmed != SimTime::Never()) {
    args["confirmed_after_s"] = (finding.confirmed - finding.first_seen).seconds().value();
  }
  const SimTime to = finding.cleared != SimTime::Never() ? finding.cleared : end;
  return {finding.first_seen, std::max(to, finding.first_seen), std::move(name), std::move(args)};
}

}  // namespace

void OperationLog::Add(const model::TelemetryRecord& record) {
  const auto* report = std::get_if<model::RankReport>(&record);
  if (report == nullptr) return;
  for (const model::OperationRecord& operation : report->operations) {
    const Series series{report->rank, operation.communicator, operation.kind, operation.peer};
    const std::pair key{series, operation.sequence};
    if (!operation.finished) {
      const auto ended = num_ended_.find(series);
      // Late reports tell of what has ended meanwhile.
      if (ended == num_ended_.end() || operation.sequence >= ended->second) under_way_[key] = operation;
      continue;
    }
    uint64_t& num_ended = num_ended_[series];
    const bool was_under_way = under_way_.erase(key) > 0;
    if (!was_under_way && operation.sequence < num_ended) continue;  // reports overlap
    num_ended = std::max(num_ended, operation.sequence + 1);
    ended_.push_back({report->rank, operation});
    if (ended_.size() <= max_operations_) continue;
    ended_.pop_front();
    ++num_dropped_;
  }
}

std::string OperationLog::Render(const DiagReport& report) const {
  const model::JobLayout& layout = report.analysis.layout;
  const SimTime end = report.analysis.end;
  SimTime origin = report.analysis.begin;
  std::map<std::pair<model::RankId, model::CommunicatorId>, std::vector<Slice>> slices;
  const auto add = [&](model::RankId rank, const model::OperationRecord& operation) {
    origin = std::min(origin, BeginOf(operation));
    slices[{rank, operation.communicator}].push_back(SliceOf(operation, layout, end));
  };
  for (const Entry& entry : ended_) add(entry.rank, entry.operation);
  for (const auto& [key, operation] : under_way_) add(std::get<0>(key.first), operation);

  report::TraceEvents events;
  Tracks tracks(&events);
  events.NameProcess(kFindings, "findings");
  std::vector<Slice> findings;
  for (const model::Finding& finding : report.analysis.findings) {
    origin = std::min(origin, finding.first_seen);
    findings.push_back(SliceOf(finding, report, end));
  }
  tracks.Add(kFindings, "findings", std::move(findings), origin);
  std::map<HostId, int> process_of;
  for (const model::RankPlace& place : layout.ranks) {
    const int process = kFindings + 1 + static_cast<int>(place.host.value());
    if (process_of.try_emplace(place.host, process).second) events.NameProcess(process, HostName(place.host, report));
  }
  for (auto& [track, of_track] : slices) {
    const auto& [rank, communicator] = track;
    tracks.Add(process_of.at(layout.ranks[rank.index()].host),
               "rank " + std::to_string(rank.value()) + ", " + layout.communicators[communicator.index()].name,
               std::move(of_track), origin);
  }
  return events.Render({{"job", layout.job.valid() ? Json(layout.job.value()) : Json(nullptr)},
                        {"format", report.format},
                        {"origin_ns", origin.ns()},
                        {"operations_left_out", num_dropped_}});
}

}  // namespace fairlead::cli
