// What the jobs of this host compute, by the counters of its GPUs.
//
// Problem     Crux ranks jobs by floating-point operations for each second of communication. No program tells how
//             many it does; the GPUs count in which share of the time each of their units was active.
// Method      ten times a second, NVML's GPM counters of each GPU (100 ms is as fine as they are; below, most samples
//             are empty):
//               FLOP     share of the time in which a unit was active x operations that it can do in a cycle x SMs x
//                        clock
//               busy     share of the time in which SMs had work, over all SMs
//             Where a GPU has no such counters, and a DCGM exporter tells of its units, the same by the exporter's
//             shares, as often as those are new.
//             Processes of a GPU are those that the driver lists, a job's those that were started with FAIRLEAD_JOB.
//             What a GPU does belongs to its processes in equal parts.
// Cost        1 to 2 ms of a processor for each GPU and sample, on a thread of its own.
// Limits      Hopper and later by counters, A100 and V100 by a DCGM exporter, whose numbers of GPUs have to be NVML's
//             (they are, where it sees all of them); others not at all. MIG is not measured. Operations are counted as
//             16-bit ones: TF32 counts double, 8-bit half. Kernels of NCCL keep a few SMs busy, which counts as work.
//             Jobs that share a GPU are not told apart. A process that sets FAIRLEAD_JOB itself, after its start, is
//             not found.
// Accuracy    H100, driver 580, matrix products for 4 s: bf16 2.5 % too many, fp32 and fp64 0.6 and 0.4 % too few
//             (tests/e2e/gpu/gpu_meter_test.py).
// Reference   Cao et al., Crux, SIGCOMM 2024, section 5 (profiling).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/job_meter.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "service/agent/nvml.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {

struct GpuMeterOptions {
  std::string proc_folder = "/proc";
  SimDuration period = SimDuration(100'000'000);            // >= 100 ms for real GPUs
  SimDuration process_period = SimDuration(1'000'000'000);  // between looks for processes
  // A text of a DCGM exporter that is newer than the one before, or an empty one; empty: there is no exporter.
  std::function<std::string()> take_dcgm = {};
};

class GpuMeter {
 public:
  // Measures from here on. Errors: kFailedPrecondition: there are no GPUs that can be measured; says why.
  static Result<std::unique_ptr<GpuMeter>> Start(std::shared_ptr<const nvml::Library> nvml,
                                                 const GpuMeterOptions& options = {});
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  // Sums since each process was first seen, by job, ascending; without processes that have ended.
  // Args: jobs: for their keys; at: now. Any thread.
  std::vector<agent::GpuSums> Read(JobIdentifier* jobs, SimTime at) const;

  // For people: what is measured, and each GPU that is not, with the reason.
  std::string Describe() const;

 private:
  class Loop;
  explicit GpuMeter(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace fairlead::service
