// What `fairlead diag analyze` says: text, JSON and a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/recording_analysis.h"
#include "controller/steering_dispatcher.h"
#include "report/document.h"
#include "report/finding_text.h"
#include "report/json_value.h"
#include "wire/finding_detail.h"

namespace fairlead::cli {

struct DiagReport {
  std::vector<std::string> files;
  std::string format;  // "dump", "ras", …
  RecordingAnalysis analysis;
  std::vector<std::string> host_names;  // [host]; hosts beyond it have numbers only
  std::vector<std::string> notes;
  // What steering does, or would do; nothing: not asked for.
  std::optional<std::vector<controller::AuditEntry>> steering;
  bool is_dry_run = true;
};

// A table of findings, then what each one says and rests on; lines fit report::kTextWidth.
report::Document RenderText(const DiagReport& report);

//   {"files", "format", "job", "ranks", "hosts", "recorded_s", "rank_reports", "host_reports", "notes",
//    "findings": [{"id", "syndrome", "state", "culprits": [{"kind", "rank", "peer", "host", "host_name", "nic", "leaf",
//    "plane"}], "candidates": [{"culprit", "why", "evidence"}], "tell_apart": [{"command", "shows"}], "communicator",
//    "operation", "sequence", "sub_cause", "signs", "evidence": [{"what", "value", "baseline", "unit"}], "summary",
//    "confidence", "score", "cost_share", "cost_gpu_hours", "action", "first_seen_s", "confirmed_s", "cleared_s",
//    "symptoms"}],
//    "steering": lines of the audit log, see service/steering/action_json.h; null: not asked for}
// Times count from the first report; what is not known is null.
report::Json ToJson(const DiagReport& report);

// A self-contained page with the delay matrix and the graph of which ranks wait for which. Args: the command line as
// typed.
std::string RenderPage(const DiagReport& report, const std::string& command_line);

// The finding with its proof; instants are those of the recording.
wire::FindingDetail DetailOf(const model::Finding& finding, const DiagReport& report);

// As a foreign file names it, else "host 3".
std::string HostName(HostId host, const DiagReport& report);

// Of hosts as HostName has them; `report` must outlive it.
report::CulpritNames NamesOf(const DiagReport& report);

// "rank 5 on worker-0", "connection from rank 3 to rank 4", …
std::string CulpritName(const model::Culprit& culprit, const DiagReport& report);

}  // namespace fairlead::cli
