#include "cli/cluster/cluster_query.h"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <utility>

namespace fairlead::cli {

void AddServerOptions(CLI::App* command, ControllerHttpOptions* options) {
  command->add_option("--server", options->server, "Where the controller's --http is: HOST:PORT, http:// or https://")
      ->type_name("URL")
      ->envname("FAIRLEAD_SERVER")
      ->capture_default_str();
  command->add_option("--token-file", options->token_file, "Show the controller the token in FILE")
      ->type_name("FILE")
      ->envname("FAIRLEAD_TOKEN_FILE");
  command
      ->add_option("--tls-ca", options->tls_ca,
                   "Certificates that an https server's is signed by; default: those that this machine trusts")
      ->type_name("FILE")
      ->envname("FAIRLEAD_TLS_CA");
}

Result<ClusterState> AskForState(ControllerHttp* controller, bool with_links) {
  ClusterState state;
  state.server = controller->server();
  FL_ASSIGN_OR_RETURN(JobList jobs, controller->Get<JobList>("/v1/jobs"));
  FL_ASSIGN_OR_RETURN(HostList hosts, controller->Get<HostList>("/v1/hosts"));
  FL_ASSIGN_OR_RETURN(FindingList findings, controller->Get<FindingList>("/v1/findings"));
  FL_ASSIGN_OR_RETURN(state.steering, controller->Get<LiveSteeringView>("/v1/steering"));
  if (with_links) {
    FL_ASSIGN_OR_RETURN(LinkList links, controller->Get<LinkList>("/v1/links"));
    state.links = std::move(links.links);
  }
  state.jobs = std::move(jobs.jobs);
  state.hosts = std::move(hosts.hosts);
  state.findings = std::move(findings.findings);
  state.now_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return state;
}

Result<ConnectionList> AskForConnections(ControllerHttp* controller, const std::string& job, uint64_t limit) {
  std::string path = fmt::format("/v1/connections?limit={}", limit);
  if (!job.empty()) path += "&job=" + EscapeForUrl(job);
  return controller->Get<ConnectionList>(path);
}

std::string EscapeForUrl(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", byte);
    }
  }
  return escaped;
}

}  // namespace fairlead::cli
