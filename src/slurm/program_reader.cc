#include <fmt/format.h>

#include "slurm/cluster_reader.h"
#include "slurm/host_list.h"
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
  FL_ASSIGN_OR_RETURN(const std::string text,
                      programs_.Run({"squeue", "-h", "-a", "-t", "all", "-j", std::to_string(id), "-O", kJobFields}));
  FL_ASSIGN_OR_RETURN(Job job, TheJob(ReadJobLines(text), id));
  if (job.state == JobState::kPending) FL_RETURN_IF_ERROR(ReadWishes(&job));
  return job;
}

Result<std::vector<Job>> ProgramReader::ReadJobsOf(uint32_t user, const std::string& name) {
  FL_ASSIGN_OR_RETURN(const std::string text,
                      programs_.Run({"squeue", "-h", "-a", "-u", std::to_string(user), "-n", name, "-O", kJobFields}));
  return ReadJobLines(text);
}

// The fields of -O have no excluded hosts.
Status ProgramReader::ReadWishes(Job* job) {
  FL_ASSIGN_OR_RETURN(const std::string text, programs_.Run({"squeue", "-h", "-a", "-t", "all", "-j",
                                                             std::to_string(job->id), "-o", "%A|%n|%x|"}));
  const std::string own = fmt::format("{}|", job->id);
  const size_t line = text.starts_with(own) ? 0 : text.find("\n" + own);
  if (line == std::string::npos) return NotFound(fmt::format("Slurm has no job {}", job->id));
  const size_t begin = text.find('|', line) + 1;
  const size_t middle = text.find('|', begin);
  const size_t end = middle == std::string::npos ? middle : text.find('|', middle + 1);
  if (end == std::string::npos) return InvalidArgument("Slurm's answer: expected three fields for a job");
  FL_ASSIGN_OR_RETURN(job->required_hosts, ExpandHosts(std::string_view(text).substr(begin, middle - begin)));
  FL_ASSIGN_OR_RETURN(job->excluded_hosts, ExpandHosts(std::string_view(text).substr(middle + 1, end - middle - 1)));
  return OkStatus();
}

// One job is asked for, and the number stands before it: all that follows is the comment, whatever is in it.
Result<std::string> ProgramReader::ReadComment(uint32_t id) {
  FL_ASSIGN_OR_RETURN(const std::string text,
                      programs_.Run({"squeue", "-h", "-a", "-t", "all", "-j", std::to_string(id), "-o", "%A|%k"}));
  const std::string own = fmt::format("{}|", id);
  if (text.empty()) return NotFound(fmt::format("Slurm has no job {}", id));
  if (!text.starts_with(own) || !text.ends_with('\n')) {
    return InvalidArgument(fmt::format("Slurm's answer: expected job {} and its comment", id));
  }
  std::string comment = text.substr(own.size(), text.size() - own.size() - 1);
  return comment == "(null)" ? std::string() : comment;
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
