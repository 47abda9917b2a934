// A lab for the time of a measurement: brought up, run in, taken down whatever happens.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_folder.h"
#include "lab/lab_plan.h"
#include "lab/lab_run.h"
#include "lab/lab_state.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct LabSessionOptions {
  std::string run_folder = DefaultRunFolder();
  std::string name;  // of the lab
  LabOptions lab;
  bool has_services = true;                            // controller and agents
  std::string page;                                    // address of the controller's page; empty: none
  std::vector<std::string> controller_arguments = {};  // beside those that every lab's controller has
};

class LabSession {
 public:
  // Brings up a lab with the fabric of a scenario. Args: file: of the scenario; stop: must outlive this, Ctrl-C.
  // Errors: those of BringUp() and StartServices(); then nothing is left.
  static Result<LabSession> Start(const std::string& file, const sim::Scenario& scenario,
                                  const LabSessionOptions& options, const std::atomic<bool>& stop);
  ~LabSession();
  LabSession(LabSession&& other) noexcept = default;
  LabSession& operator=(LabSession&&) = delete;

  const LabState& state() const { return state_; }
  const LabFolder& folder() const { return *folder_; }

  // Trains jobs for `seconds` after a warm-up. Args: steers: agents choose paths; else the fabric hashes.
  Result<LabRunResult> Run(const std::vector<LabJob>& jobs, bool steers, double warm_up_s, double seconds,
                           std::vector<LabDeed> deeds = {});

  // As lab.h. `cable`: its name.
  Status SetHealth(CableId cable, double health);
  Status SetHealth(const std::string& cable, double health);

 private:
  LabSession(LabFolder folder, LabState state, const std::atomic<bool>& stop);

  std::unique_ptr<LabFolder> folder_;  // null: moved from
  LabState state_;
  const std::atomic<bool>* stop_;
};

}  // namespace fairlead::lab
