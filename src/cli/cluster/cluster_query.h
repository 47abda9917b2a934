// Reading a running cluster over HTTP, for the commands that show it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "cli/cluster/cluster_report.h"
#include "cli/cluster/controller_http.h"

namespace fairlead::cli {

// --server, --token-file, --tls-ca, with their environment variables.
void AddServerOptions(CLI::App* command, ControllerHttpOptions* options);

// What hosts are marked by: findings, steering, and the time.
Status AskForMarks(ControllerHttp* controller, ClusterState* state);

// The long lists of a large cluster: a megabyte and more.
struct LongLists {
  bool hosts = true;
  size_t links = 0;  // that many, the worst and the fullest
};

// Jobs, findings and steering, and those of the long lists that are wanted.
Result<ClusterState> AskForState(ControllerHttp* controller, const LongLists& wanted = {});

// Where links are asked for. Args: parameters: of /v1/links (service/controller/link_routes.h).
std::string LinksPath(const std::multimap<std::string, std::string>& parameters);

// Args: job: of that one alone; empty: of all.
Result<wire::ConnectionList> AskForConnections(ControllerHttp* controller, const std::string& job, uint64_t limit);

// Where they are asked for.
std::string ConnectionsPath(const std::string& job, uint64_t limit);

}  // namespace fairlead::cli
