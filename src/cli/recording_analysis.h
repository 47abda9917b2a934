// A recording replayed through the C4D master: its findings, and the data for figures.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "diagnosis/c4d/c4d_master.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/telemetry.h"
#include "report/delay_matrix_figure.h"
#include "telemetry/host_clocks.h"

namespace fairlead::cli {

struct AnalysisOptions {
  diagnosis::c4d::C4dOptions master;
  // How often the master looks, in recorded time; > 0. Longer: faster, and findings are later by up to that much.
  SimDuration tick = SimDuration(1'000'000'000);
  // Announced maintenance, since the first report: nothing is suspected meanwhile.
  struct Pause {
    SimDuration from;
    SimDuration until;
  };
  std::vector<Pause> pauses;
  // The recording shows one instant: whatever is under way at its end is treated as stalled.
  bool is_snapshot = false;
};

struct RecordingAnalysis {
  model::JobLayout layout;
  uint64_t num_rank_reports = 0;
  uint64_t num_host_reports = 0;
  SimTime begin;  // of the first and the last report
  SimTime end;
  std::vector<model::Finding> findings;  // confirmed or cleared; of a snapshot, all that hold
  // Seconds per byte between ranks, where messages were seen: from when the first finding about transfers was first
  // seen until it was confirmed, a minute at most; else of the whole recording.
  std::vector<report::DelayMatrixCell> delays;
  std::map<model::FindingId, model::FindingProof> proofs;
};

// Takes the records of a recording in order of arrival. Memory: that of the master and of the delays.
class RecordingReplay {
 public:
  // Args: options valid.
  RecordingReplay(const model::JobLayout& layout, const AnalysisOptions& options);
  void Add(model::TelemetryRecord record);
  // Once, after all records.
  RecordingAnalysis Finish();

 private:
  struct Transfers {
    double seconds = 0;
    double bytes = 0;
  };
  using Pairs = std::map<std::pair<uint32_t, uint32_t>, Transfers>;

  // Of a report; nothing: it is none, or of a rank that the layout does not know.
  std::optional<telemetry::HostReportInstant> InstantOf(const model::TelemetryRecord& record) const;
  // Ends the time in which records are held back.
  void FindClocks();
  void Take(model::TelemetryRecord record);
  void AdvanceTo(SimTime at);
  void Look(SimTime now);
  void NoteFinding(const model::Finding& finding);
  model::FindingProof ProofOfSnapshot(const model::Finding& finding) const;
  void AddDelays(const model::RankReport& report);
  static std::vector<report::DelayMatrixCell> DelaysOf(const Pairs& pairs);

  AnalysisOptions options_;
  diagnosis::c4d::C4dMaster master_;
  RecordingAnalysis analysis_;
  std::vector<model::TelemetryRecord> early_;       // held back until it is known whose clocks differ
  std::optional<std::map<HostId, SimTime>> begun_;  // meanwhile, the first report of each host
  std::map<HostId, SimDuration> ahead_;             // clocks that differ
  std::vector<model::TelemetryRecord> waiting_;     // for the next look
  bool has_begun_ = false;
  SimTime next_look_;
  Pairs all_pairs_;
  struct Window {
    SimTime end;
    Pairs pairs;
  };
  std::deque<Window> windows_;  // the last ones, the newest last
  bool has_slow_finding_ = false;
};

// Adds a finding about ranks that gave no answer, unless one names them already: dead where the job is stalled
// meanwhile, else unreachable (docs/spec/c4.md section 4.1, rule 3A).
void AddUnanswered(const std::vector<model::RankId>& ranks, bool is_stalled, RecordingAnalysis* analysis);

// Takes out hangs of which other ranks are accused, for being behind, than those that gave no answer in the same
// communicator: that may be why they are behind. Says so in the notes.
void ExplainLag(const std::vector<model::RankId>& unanswered, RecordingAnalysis* analysis,
                std::vector<std::string>* notes);

// Of what did not show whether the job moves: its hangs may be ranks that are a moment apart, and are to be watched.
void DoubtHangs(RecordingAnalysis* analysis);

// The greatest pause between reports of one host, at least a second: in foreign files it says nothing about the host.
SimDuration LongestPause(const std::vector<model::TelemetryRecord>& records);

}  // namespace fairlead::cli
