// NCCL RAS: what `ncclras -f json` (NCCL 2.28.7 and later) answers about a running job, and its text (ras_text.h).
//
// Problem     RAS counts the operations that each rank has begun on each communicator, and names ranks that do not
//             answer; make reports of it.
// Method      an operation that some ranks of a communicator have begun and others have not is under way on the former
//             and has not come on the latter; once all have begun it, a later file of the same job shows it finished.
//             Ranks that RAS considers dead are processes that are gone; those that do not answer report nothing.
// Guarantees  one file is one instant, so ranks that are merely a moment apart look like ranks that wait; the notes say
//             so. The files may be given in any order: they are sorted by their time stamps. Texts have none: they are
//             taken a minute apart, in the order given.
// Differs     the answers of NCCL 2.28.9 miss commas; they are still read (RepairCommas).
// Reference   NVIDIA/nccl, src/ras/client_support.cc
#pragma once

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "telemetry/rank_table.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

// A rank of a communicator at one instant.
struct RasRank {
  uint64_t rank = 0;  // of the communicator
  RankProcess process;
  bool is_process_known = false;
  bool is_missing = false;  // did not answer for this communicator
  bool is_dead = false;
  bool is_unresponsive = false;
  bool is_finalizing = false;
  bool is_aborted = false;
  int32_t error = 0;  // ncclResult_t
  std::map<model::OperationKind, uint64_t> counts;
};

struct RasCommunicator {
  std::string name;
  uint64_t size = 0;
  std::vector<RasRank> ranks;
};

// One answer.
struct RasSnapshot {
  std::string file;
  int64_t time_s = 0;  // on some clock; 0: not known
  std::vector<RasCommunicator> communicators;
  std::vector<std::string> notes;  // sentences for people
};

class NcclRasImporter final : public Importer {
 public:
  Status Add(std::istream& file, const std::string& name) override;
  // Errors: files that contradict each other about the members of a communicator.
  Result<Recording> Finish() override;

 private:
  std::vector<RasSnapshot> snapshots_;
};

}  // namespace fairlead::telemetry
