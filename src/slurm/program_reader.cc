#include <fmt/format.h>

#include "slurm/cluster_reader.h"
#include "slurm/json_answers.h"
#include "slurm/text_answers.h"

namespace fairlead::slurm {
namespace {

template <class Record>
Result<Record> TheOne(Result<std::vector<Record>> records, const std::string& what) {
  if (!records.ok()) return records.status();
  if (records->size() != 1) return NotFound(fmt::format("Slurm has no {}", what));
  return std::move(records->front());
}

Result<Job> TheJob(Result<std::vector<Job>> jobs, uint32_t id) {
  if (!jobs.ok()) return jobs.status();
  const Job* job = FindJob(*jobs, id);  // of an array Slurm returns all
  if (job == nullptr) return NotFound(fmt::format("Slurm has no job {}", id));
  return *job;
}

}  // namespace

Result<ClusterState> ProgramReader::ReadAll() {
  ClusterState state;
  FL_ASSIGN_OR_RETURN(const std::string jobs, programs_.Run({"squeue", "-h", "-a", "-O", kJobFields}));
  FL_ASSIGN_OR_RETURN(state.jobs, ReadJobLines(jobs));
  FL_ASSIGN_OR_RETURN(const std::string nodes, programs_.Run({"scontrol", "show", "node", "-o"}));
  FL_ASSIGN_OR_RETURN(state.nodes, ReadNodeLines(nodes));
  FL_ASSIGN_OR_RETURN(const std::string partitions, programs_.Run({"scontrol", "-a", "show", "partition", "-o"}));
  FL_ASSIGN_OR_RETURN(state.partitions, ReadPartitionLines(partitions));
  FL_ASSIGN_OR_RETURN(state.reservations, ReadReservations());
  return state;
}

Result<Job> ProgramReader::ReadJob(uint32_t id) {
  FL_ASSIGN_OR_RETURN(const std::string text,
                      programs_.Run({"squeue", "-a", "-t", "all", "-j", std::to_string(id), "--json"}));
  return TheJob(ReadJobsJson(text), id);
}

Result<Job> ProgramReader::ReadJobLine(uint32_t id) {
  FL_ASSIGN_OR_RETURN(
      const std::string text,
      programs_.Run({"squeue", "-h", "-a", "-t", "all", "-j", std::to_string(id), "-O", kJobFields}));
  return TheJob(ReadJobLines(text), id);
}

Result<Node> ProgramReader::ReadNode(const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::string text, programs_.Run({"scontrol", "show", "node", "-o", name}));
  return TheOne(ReadNodeLines(text), "node " + name);
}

Result<std::vector<Reservation>> ProgramReader::ReadReservations() {
  FL_ASSIGN_OR_RETURN(const std::string text, programs_.Run({"scontrol", "show", "reservation", "-o"}));
  return ReadReservationLines(text);
}

}  // namespace fairlead::slurm
