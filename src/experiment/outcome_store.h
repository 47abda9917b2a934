// Saves results of experiments in a folder, so that an interrupted long `run all` continues where it stopped.
//
// One file for each experiment, written when it has ended: FOLDER/NAME.json. It counts only for the same version of the
// program, seed and setting; anything else in it means that the experiment is run again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiment {

// Which run an outcome is of.
struct OutcomeKey {
  std::string name;
  uint64_t seed = 0;
  bool reduced = false;
  uint32_t num_draws = 0;  // 0 = the experiment's own
};

struct KeptOutcome {
  Outcome outcome;
  double wall_s = 0;
};

class OutcomeStore {
 public:
  // Args: an existing folder.
  explicit OutcomeStore(std::string folder) : folder_(std::move(folder)) {}

  // Nothing when there is no such file, or it is of another run, cut off, or not ours.
  std::optional<KeptOutcome> Find(const OutcomeKey& key) const;
  // Replaces saved results. Errors: those of WriteFileAtomically.
  Status Keep(const OutcomeKey& key, const KeptOutcome& kept) const;

 private:
  std::string PathOf(const OutcomeKey& key) const { return folder_ + "/" + key.name + ".json"; }

  std::string folder_;
};

}  // namespace fairlead::experiment
