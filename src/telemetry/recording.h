// What an importer makes of foreign files: the same records that agents of our own would have sent.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/telemetry.h"

namespace fairlead::telemetry {

struct Recording {
  model::JobLayout layout;
  // Reports of ranks and hosts, in order of time; the earliest instant of the files is about 0.
  std::vector<model::TelemetryRecord> reports;
  std::vector<std::string> host_names;  // [host]
  // Ranks with a process that did not answer the last query, and is not known to be gone; ascending.
  std::vector<model::RankId> unanswered;
  // The last instant that the files of a flight recorder tell; 0: none.
  int64_t latest_unix_ns = 0;
  // Whether two looks at the job, some time apart, showed the same counts; false: it moved, or there was one look.
  bool is_stalled = false;
  // Assumptions about gaps in the files, and what was left out; sentences for people.
  std::vector<std::string> notes;
};

// Reads the files of one job in one foreign format.
class Importer {
 public:
  virtual ~Importer() = default;

  // Reads one file. Errors: kInvalidArgument, "name:line: …" or "name: …": what is wrong or not supported. After an
  // error the importer is good for nothing.
  virtual Status Add(std::istream& file, const std::string& name) = 0;

  // Once, after all files. Errors: kInvalidArgument where files contradict each other, and without any.
  virtual Result<Recording> Finish() = 0;
};

// Ranks and members of communicators beyond this count as damage.
inline constexpr uint64_t kNumImportedRanksMax = uint64_t{1} << 20;
// Foreign files that are read whole.
inline constexpr size_t kImportedFileBytesMax = size_t{1} << 30;

// "3", "3 and 5", "3, 5 and 9", "3, 5, 9, 12, 13 and 40 more".
std::string ListNumbers(const std::vector<uint32_t>& numbers);

}  // namespace fairlead::telemetry
