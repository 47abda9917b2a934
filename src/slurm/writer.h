// Carries operations out on a Slurm cluster, and goes on with them after a kill at any moment.
//
//     Carry() --> record of the intention --> look, step, look, step, … --> done or given up --> record removed
//     Resume(), in a later process:           look, step, …                     (as PlanStep() says,
//     slurm/operations.h)
//
//     Abandon() --> record removed, and a job that the operation holds released
//
// Records     "slurm/intention/<number>" in the store, before the first command and until the last look;
//             "slurm/stopped/<job>" from the end of its StopJob to the end of its PlaceJob;
//             "slurm/released/<job>" from then on, until SteeringSteps has seen that Slurm remembers it.
// Guarantees  a command is run only for an operation that is recorded. What is recorded is carried to its end or
//             reported. An operation that is given up leaves no job held; a job that is stopped is in a record.
// Thread      one at a time for one store.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "slurm/cluster_reader.h"
#include "slurm/operations.h"
#include "slurm/programs.h"
#include "store/store.h"

namespace fairlead::slurm {

struct WriterOptions {
  // Between two looks at what Slurm is at; > 0. Longer: less work for slurmctld. Shorter: jobs start sooner again.
  std::chrono::milliseconds pause{200};
  // Looks until Carry() returns although Slurm is still at it; > 0.
  uint32_t num_looks_max = 300;
  // Commands that Slurm may refuse before the operation is given up; >= 0. What changed between look and command is
  // refused, too, and is not there at the next look.
  uint32_t num_refusals_max = 3;
  // Steps until the operation is given up, as one that does not change what Slurm shows; > 2.
  uint32_t num_steps_max = 12;
  // Waits; for tests.
  std::function<void(std::chrono::milliseconds)> sleep;
};

struct Outcome {
  enum class Kind : uint8_t {
    kDone,
    kGivenUp,   // it will not be so; the message says why
    kUnderway,  // its record stays: Resume() goes on with it
  };
  Kind kind = Kind::kDone;
  std::string message;
};

class Writer {
 public:
  // Both must outlive this.
  Writer(Programs* programs, store::Store* store, const WriterOptions& options = {});

  // Blocks until it is done, given up, or for num_looks_max looks. Goes on with the same operation where that is
  // recorded. Args: when_done: written as its record is removed, both or neither.
  // Errors: kUnavailable  Slurm or the store does not answer. Where the record could be made it stays, for Resume();
  //         kFailedPrecondition  another operation about the same is recorded: Resume() first
  //         others: those of the store, before anything is done.
  Result<Outcome> Carry(const Operation& operation, std::span<const store::Change> when_done = {});

  struct Resumed {
    Operation operation;
    Outcome outcome;
  };
  // Takes a recorded operation back, as far as it can be: a job that it holds is released as it is. Nothing where it
  // is not recorded. Errors: as Carry(); the record stays.
  Status Abandon(const Operation& operation, std::string* message);
  // The same of what is recorded about a subject, whatever it is.
  Status AbandonSubject(const std::string& subject);
  // Releases a job that was stopped, and forgets that it was. Errors: as Carry(); it stays stopped.
  Status ReleaseStopped(const StopJob& stopped, std::string* message);

  // All operations that are recorded, in the order in which they were. Errors: as Carry(); kDataLoss: a record that
  // can't be read; nothing is done then.
  Result<std::vector<Resumed>> Resume();

 private:
  Result<Outcome> Go(uint64_t number, const Operation& operation, std::span<const store::Change> when_done);
  // Runs the step's commands. Returns whether Slurm refused one.
  Result<bool> RunAll(const std::vector<Command>& commands, std::string* refusal);
  // The job is stopped no more.
  Status ForgetStop(uint32_t job, std::vector<store::Change>* changes) const;
  Result<Outcome> End(uint64_t number, const Operation& operation, Outcome outcome,
                      std::span<const store::Change> when_done);
  Result<Observation> Look(const Operation& operation);

  Programs& programs_;
  store::Store& store_;
  ProgramReader reader_;
  WriterOptions options_;
};

}  // namespace fairlead::slurm
