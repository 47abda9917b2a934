// A tour of faults: plants one after the other in a job of a lab, and watches what diagnosis and steering make of it.
//
//     start --> settle --> [plant] --> watch --> found: restarted by steering ----> [mend] --> settle --> ..
//                                        |         or: nothing restarts: [mend] --> goes on ----^
//                                        +----> not found in time: [mend], and restart the job
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/findings_page.h"
#include "lab/lab_faults.h"
#include "lab/steered_lab.h"
#include "report/document.h"
#include "report/json_value.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct FaultTourOptions {
  SteeredLabOptions lab;
  std::vector<LabFault> faults;  // in this order; PlanTour() makes a good one
  // Seconds for which nothing may be found about a healthy job, > 0.
  double healthy_s = 40;
};

// What became of one fault.
struct TourStop {
  LabFault fault;
  std::string job;
  std::string host;  // of the faulty worker
  // Confirmed from the fault until the next one, in order.
  std::vector<wire::LiveFinding> findings;
  bool is_right = false;          // a right finding, and no other; or none where nothing is at fault
  std::optional<double> found_s;  // from the fault to its first finding's confirmation
  bool was_restarted = false;     // by steering
  std::optional<double> back_s;   // from then until the job had done the next iteration
  uint64_t lost_iterations = 0;   // that a restart did again
};

struct FaultTour {
  std::string title;
  size_t num_hosts = 0;
  size_t num_workers = 0;
  std::vector<TourStop> stops;
  // Confirmed while nothing was planted that could explain it.
  std::vector<wire::LiveFinding> unexpected;
  double wall_s = 0;

  bool IsAllRight() const;
};

// All kinds, or some by name, in an order in which they disturb each other least, on different workers.
// Args: num_workers: of the job, >= 2; iteration_s: about what an iteration takes, > 0.
std::vector<LabFault> PlanTour(std::vector<LabFaultKind> kinds, uint32_t num_workers, double iteration_s);

// What is being done; at most 60 characters. `fraction`: of the tour.
using TourProgress = std::function<void(const std::string& what, double fraction)>;

// Brings up a lab, tours its first job, and takes the lab down whatever happens.
// Args: file, scenario: as SteeredLab. Errors: kInvalidArgument: a fault that does not fit the job; kUnavailable: it
// does not run; those of SteeredLab.
Result<FaultTour> RunFaultTour(const std::string& file, const sim::Scenario& scenario, const FaultTourOptions& options,
                               const TourProgress& progress, const std::atomic<bool>& stop);

// Rows of the table, JSON and page; at most 100 columns.
report::Document RenderTour(const FaultTour& tour);
//   {"scenario", "hosts", "workers", "wall_s", "right", "of", "unexpected": [finding],
//    "stops": [{"fault", "job", "worker", "host", "right", "seconds", "syndrome", "culprits", "text", "action",
//               "restarted", "back_s", "lost_iterations", "findings": [finding]}]}
report::Json TourJson(const FaultTour& tour);
std::string TourPage(const FaultTour& tour);

}  // namespace fairlead::lab
