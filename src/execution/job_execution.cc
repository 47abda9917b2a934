#include "execution/job_execution.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "execution/fault_effects.h"
#include "execution/operation_log.h"
#include "execution/report_writer.h"
#include "execution/training_program.h"
#include "execution/transfer_simulator.h"

namespace fairlead::execution {

namespace {

std::vector<ReportWindows> WindowsOf(const JobShape& shape, const NoiseOptions& noise, uint64_t seed) {
  for (const Status& status : {shape.Validate(), noise.Validate()}) FL_CHECK_MSG(status.ok(), status.message());
  Random random(CombineHash(seed, 5));
  return DrawReportWindows(shape.NumHosts(), noise, random);
}

}  // namespace

// Each part keeps pointers to those before it.
struct JobExecution::Parts {
  Parts(const JobShape& job_shape, std::vector<Fault> faults, const NoiseOptions& noise, uint64_t seed)
      : shape(job_shape),
        windows(WindowsOf(shape, noise, seed)),
        layout(MakeLayout(shape, JobId(0))),
        effects(shape, layout, std::move(faults)),
        simulator(shape, noise, windows, &effects, seed),
        log(layout),
        program(shape, noise, &layout, &effects, &simulator, &log, seed),
        writer({&shape, &layout, &effects, &program, &simulator, &log}, noise, windows, CombineHash(seed, 6)),
        channel(noise, CombineHash(seed, 7)) {
    channel.SendReliably(0, layout);
  }

  JobShape shape;
  std::vector<ReportWindows> windows;
  model::JobLayout layout;
  FaultEffects effects;
  TransferSimulator simulator;
  OperationLog log;
  TrainingProgram program;
  ReportWriter writer;
  ReportChannel channel;
};

JobExecution::JobExecution(const JobShape& shape, std::vector<Fault> faults, const NoiseOptions& noise, uint64_t seed)
    : parts_(std::make_unique<Parts>(shape, std::move(faults), noise, seed)) {}
JobExecution::~JobExecution() = default;
JobExecution::JobExecution(JobExecution&&) noexcept = default;
JobExecution& JobExecution::operator=(JobExecution&&) noexcept = default;

const model::JobLayout& JobExecution::layout() const { return parts_->layout; }

void JobExecution::Run(SimTime until, const EmitRecord& emit) {
  const Instant horizon = ToInstant(until);
  while (true) {
    const Instant frontier = parts_->program.HasEnded() ? kNever : parts_->program.Frontier();
    const Instant simulated_until = std::min(horizon, frontier);
    parts_->writer.WriteUntil(simulated_until, parts_->channel);
    parts_->channel.Deliver(simulated_until, emit);
    if (simulated_until == horizon) return;
    parts_->program.SimulateIteration();
  }
}

std::vector<SimTime> JobExecution::IterationEnds() const {
  std::vector<SimTime> ends;
  for (const Instant end : parts_->program.iteration_ends()) ends.push_back(ToSimTime(end));
  return ends;
}

std::optional<SimTime> JobExecution::FirstActed(size_t fault) const {
  const Instant acted = parts_->effects.FirstActed(static_cast<FaultIndex>(fault));
  return IsNever(acted) ? std::nullopt : std::optional(SimTime(acted));
}

SimDuration JobExecution::ClockErrorOf(HostId host, SimTime t) const {
  return parts_->writer.ClockOf(host).Show(t) - t;
}

}  // namespace fairlead::execution
