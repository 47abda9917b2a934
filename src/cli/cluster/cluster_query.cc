#include "cli/cluster/cluster_query.h"

#include <fmt/format.h>
#include <httplib.h>

#include <chrono>
#include <utility>

namespace fairlead::cli {

void AddServerOptions(CLI::App* command, ControllerHttpOptions* options) {
  command->add_option("--server", options->server, "Address of the controller's --http: HOST:PORT, http:// or https://")
      ->type_name("URL")
      ->envname("FAIRLEAD_SERVER")
      ->capture_default_str();
  command->add_option("--token-file", options->token_file, "Send the controller the token in FILE")
      ->type_name("FILE")
      ->envname("FAIRLEAD_TOKEN_FILE");
  command
      ->add_option("--tls-ca", options->tls_ca,
                   "CA certificates for an https server; default: those that this machine trusts")
      ->type_name("FILE")
      ->envname("FAIRLEAD_TLS_CA");
}

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<ClusterState> AskForState(ControllerHttp* controller, const LongLists& wanted) {
  ClusterState state;
  state.server = controller->server();
  state.now_s = SecondsSince1970();
  FL_ASSIGN_OR_RETURN(wire::JobList jobs, controller->Get<wire::JobList>("/v1/jobs"));
  FL_ASSIGN_OR_RETURN(wire::FindingList findings, controller->Get<wire::FindingList>("/v1/findings"));
  FL_ASSIGN_OR_RETURN(state.steering, controller->Get<wire::LiveSteeringView>("/v1/steering"));
  const std::string hosts = ListPath("hosts", {{"order", "worst"}, {"limit", fmt::format("{}", wanted.hosts)}});
  FL_ASSIGN_OR_RETURN(state.hosts, controller->Get<wire::HostList>(hosts));
  if (wanted.links > 0) {
    const std::string links = ListPath("links", {{"limit", fmt::format("{}", wanted.links)}});
    FL_ASSIGN_OR_RETURN(state.links, controller->Get<wire::LinkList>(links));
  }
  state.jobs = std::move(jobs.jobs);
  state.findings = std::move(findings.findings);
  return state;
}

std::string ListPath(const std::string& list, const std::multimap<std::string, std::string>& parameters) {
  return httplib::append_query_params("/v1/" + list, parameters);
}

std::string ConnectionsPath(const std::string& job, uint64_t limit) {
  httplib::Params params = {{"limit", fmt::format("{}", limit)}};
  if (!job.empty()) params.emplace("job", job);
  return httplib::append_query_params("/v1/connections", params);
}

Result<wire::ConnectionList> AskForConnections(ControllerHttp* controller, const std::string& job, uint64_t limit) {
  return controller->Get<wire::ConnectionList>(ConnectionsPath(job, limit));
}

}  // namespace fairlead::cli
