// What is being done to Slurm, as records of the store.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "slurm/operations.h"
#include "store/store.h"

namespace fairlead::slurm {

// One JSON object; Errors of reading: kDataLoss.
std::string IntentionKey(uint64_t number);
std::string IntentionText(const Operation& operation);

// By number. Errors: kUnavailable: the store; kDataLoss: a record that can't be read: which one, and what is wrong.
Result<std::vector<std::pair<uint64_t, Operation>>> ReadIntentions(const store::Store& store);
// The number of one more, behind these.
inline uint64_t NextIntention(const std::vector<std::pair<uint64_t, Operation>>& recorded) {
  return recorded.empty() ? 1 : recorded.back().first + 1;
}

// Jobs that are stopped by us, and not placed or released since; how they were when they ran.
std::string StoppedKey(uint32_t job);
// Jobs that were stopped by us, and placed or released at that time.
struct ReleasedJob {
  StopJob stop;
  int64_t at = 0;  // seconds since 1970
};
std::string ReleasedKey(uint32_t job);
std::string ReleasedText(const ReleasedJob& released);
Result<std::vector<ReleasedJob>> ReadReleased(const store::Store& store);
// Of a host that was isolated lately; its value is when, likewise, a blank, and why.
std::string IsolatedKey(const std::string& host);
// Of a host that was returned lately; its value is when, in seconds since 1970.
std::string ReturnedKey(const std::string& host);
// Errors: as above.
Result<std::vector<StopJob>> ReadStopped(const store::Store& store);

}  // namespace fairlead::slurm
