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

// Of the long lists of a large cluster.
struct LongLists {
  size_t hosts = 1;  // that many, those that need a look first; at least one
  size_t links = 0;  // that many, the worst and the fullest
};

// Jobs, findings, steering, the totals of hosts, and what is wanted of the long lists.
Result<ClusterState> AskForState(ControllerHttp* controller, const LongLists& wanted = {});

// Where a long list is asked for. Args: list: "links" or "hosts"; parameters: of it (service/controller/link_routes.h,
// host_routes.h).
std::string ListPath(const std::string& list, const std::multimap<std::string, std::string>& parameters);

double SecondsSince1970();

// Args: job: of that one alone; empty: of all.
Result<wire::ConnectionList> AskForConnections(ControllerHttp* controller, const std::string& job, uint64_t limit);

// Where they are asked for.
std::string ConnectionsPath(const std::string& job, uint64_t limit);

}  // namespace fairlead::cli
