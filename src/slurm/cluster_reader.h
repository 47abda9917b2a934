// Where Slurm's state is read from: its programs, or slurmrestd.
//
// Both give the same. Slurm's lines are the cheaper source by far (text_answers.h), so ProgramReader reads all of it
// from them; what only JSON has (GPUs of a job, what its user says) it asks for one job at a time. RestReader is for
// where no program of Slurm is installed: each of its readings costs slurmrestd what `squeue --json` would cost here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "slurm/cluster_state.h"
#include "slurm/programs.h"

namespace fairlead::slurm {

class ClusterReader {
 public:
  virtual ~ClusterReader() = default;

  // Jobs without what only readings of one job have. Errors: kUnavailable, kFailedPrecondition: Slurm does not answer,
  // or would not; kInvalidArgument: an answer that is not understood.
  virtual Result<ClusterState> ReadAll() = 0;

  // Of an array: the job of that number only. Errors: as above; kNotFound: Slurm knows no such job (any more).
  virtual Result<Job> ReadJob(uint32_t id) = 0;
};

class ProgramReader final : public ClusterReader {
 public:
  // `programs` must outlive this.
  explicit ProgramReader(Programs* programs) : programs_(*programs) {}

  Result<ClusterState> ReadAll() override;
  Result<Job> ReadJob(uint32_t id) override;

  // The parts that writers look at again and again; errors as those of ReadJob().
  Result<Job> ReadJobLine(uint32_t id);  // as ReadAll() has it; and hosts that one that is pending requires or excludes
  // Those that the user has given that name; as ReadAll() has them.
  Result<std::vector<Job>> ReadJobsOf(uint32_t user, const std::string& name);
  Result<std::string> ReadComment(uint32_t id);  // its user's, byte by byte; of one that is a single job
  Result<Node> ReadNode(const std::string& name);
  Result<std::vector<Reservation>> ReadReservations();

 private:
  Status ReadWishes(Job* job);

  Programs& programs_;
};

struct RestReaderOptions {
  std::string socket;  // of slurmrestd
  // > 0. Longer: a busy slurmctld has time to answer.
  std::chrono::milliseconds deadline{30'000};
};

class RestReader final : public ClusterReader {
 public:
  explicit RestReader(const RestReaderOptions& options);
  ~RestReader() override;

  Result<ClusterState> ReadAll() override;
  Result<Job> ReadJob(uint32_t id) override;

  // Of the interface that slurmrestd has, "v0.0.38"; empty: nothing was read yet.
  const std::string& version() const { return version_; }

 private:
  struct Http;

  // The newest one of those that we can read. Errors: kUnavailable; kUnimplemented: none.
  Status FindVersion();
  Result<std::string> Get(const std::string& path);

  std::unique_ptr<Http> http_;
  std::string version_;
};

}  // namespace fairlead::slurm
