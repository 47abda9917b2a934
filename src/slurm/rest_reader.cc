#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include "slurm/cluster_reader.h"
#include "slurm/json_answers.h"

namespace fairlead::slurm {
namespace {

// Of the interface; each release of Slurm has about three.
constexpr int kNewestVersion = 45;
constexpr int kOldestVersion = 38;

}  // namespace

struct RestReader::Http {
  explicit Http(const std::string& socket) : client(socket) {}
  httplib::Client client;
};

RestReader::RestReader(const RestReaderOptions& options) : http_(std::make_unique<Http>(options.socket)) {
  http_->client.set_address_family(AF_UNIX);
  http_->client.set_connection_timeout(options.deadline);
  http_->client.set_read_timeout(options.deadline);
  // The socket's path would be named as the host, which slurmrestd takes for a mistake.
  http_->client.set_default_headers({{"Host", "localhost"}});
}

RestReader::~RestReader() = default;

Result<std::string> RestReader::Get(const std::string& path) {
  const auto answer = http_->client.Get(path);
  if (!answer) return Unavailable(fmt::format("slurmrestd does not answer: {}", httplib::to_string(answer.error())));
  if (answer->status == 404) return NotFound(fmt::format("slurmrestd has no {}", path));
  if (answer->body.find("Invalid job id") != std::string::npos) return NotFound(fmt::format("Slurm has no {}", path));
  if (answer->status != 200) return Unavailable(fmt::format("slurmrestd: {} for {}", answer->status, path));
  return answer->body;
}

Status RestReader::FindVersion() {
  for (int version = kNewestVersion; version_.empty() && version >= kOldestVersion; --version) {
    const std::string name = fmt::format("v0.0.{}", version);
    const auto answer = Get(fmt::format("/slurm/{}/ping", name));
    if (answer.ok()) version_ = name;
    if (answer.status().code() == StatusCode::kUnavailable &&
        answer.status().message().find("does not answer") != std::string::npos) {
      return answer.status();
    }
  }
  if (!version_.empty()) return OkStatus();
  return {StatusCode::kUnimplemented,
          fmt::format("slurmrestd has none of the interfaces v0.0.{} to v0.0.{}", kOldestVersion, kNewestVersion)};
}

Result<ClusterState> RestReader::ReadAll() {
  FL_RETURN_IF_ERROR(FindVersion());
  ClusterState state;
  const std::string begin = "/slurm/" + version_ + "/";
  FL_ASSIGN_OR_RETURN(const std::string jobs, Get(begin + "jobs"));
  FL_ASSIGN_OR_RETURN(state.jobs, ReadJobsJson(jobs));
  FL_ASSIGN_OR_RETURN(const std::string nodes, Get(begin + "nodes"));
  FL_ASSIGN_OR_RETURN(state.nodes, ReadNodesJson(nodes));
  FL_ASSIGN_OR_RETURN(const std::string partitions, Get(begin + "partitions"));
  FL_ASSIGN_OR_RETURN(state.partitions, ReadPartitionsJson(partitions));
  FL_ASSIGN_OR_RETURN(const std::string reservations, Get(begin + "reservations"));
  FL_ASSIGN_OR_RETURN(state.reservations, ReadReservationsJson(reservations));
  return state;
}

Result<Job> RestReader::ReadJob(uint32_t id) {
  FL_RETURN_IF_ERROR(FindVersion());
  FL_ASSIGN_OR_RETURN(const std::string text, Get(fmt::format("/slurm/{}/job/{}", version_, id)));
  FL_ASSIGN_OR_RETURN(const std::vector<Job> jobs, ReadJobsJson(text));
  const Job* job = FindJob(jobs, id);
  if (job == nullptr) return NotFound(fmt::format("Slurm has no job {}", id));
  return *job;
}

}  // namespace fairlead::slurm
