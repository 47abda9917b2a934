// PyTorch's NCCL flight recorder, one file per rank: what was under way in each process group when a job was given up.
//
// Problem     each rank remembers its last operations on its own; find for every operation which ranks never came.
// Method      operations of a group are the same on every rank and are launched in one order, so they are matched by
//             the number of the launch (collective_seq_id). What a rank's ring buffer no longer holds is known to be
//             finished where pg_status says so, else the comparison begins where the youngest buffer begins. Sends and
//             receives have numbers that only their own rank counts; they get a communicator of their own, "… p2p",
//             and are matched by their count per pair of ranks, or from the first unfinished one on where older ones
//             were overwritten.
// Cost        linear in the files; memory: kNumTraceEventsMax events for each rank and group.
// Guarantees  the order of the files does not matter. A rank without a file stays in the layout and reports nothing.
// Differs     hosts are not in the files: each rank is a separate host.
// Reference   pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorder*.hpp
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "telemetry/flight_trace.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

class FlightRecorderImporter final : public Importer {
 public:
  Status Add(std::istream& file, const std::string& name) override;
  // Errors: two files of one rank, files of different jobs, a group with unknown ranks.
  Result<Recording> Finish() override;

 private:
  std::vector<RankTrace> traces_;
};

}  // namespace fairlead::telemetry
