// The hosts of the cluster over HTTP: as pages, those that need a look first if that is asked for.
//
//     GET /v1/hosts                      the first page; "next" of an answer, as `after`, leads to the one behind it
//
// What can be asked, all together:
//
//     limit=N             hosts of a page: 1 to 10,000; else 1,000
//     after=NEXT          the page behind the one with that "next"
//     order=fabric|worst  as the fabric numbers them (the default); or isolated, isolating, in doubt, silent, without
//                         an agent, named by a finding that holds, all others
//     state=STATE         in that state (below); needs_look: all before "all others"
//     name=NAME           that one
//     text=PART           whose name or state has that part, upper and lower case alike
//
// Of what is true of a host its state is what matters most: "isolated", "isolating", "in_doubt": steering has taken it
// out of use, is about to, or does not know whether it did; "silent": its agent has called before; "no_agent": none
// ever has; "spare", "reserved": steering may put it in the place of another one, or is about to; "connected".
//
// Pages     as of links (link_routes.h).
// Cost      O(hosts + size of the page * log): one look at the controller, whatever the page's size.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/job_watch.h"
#include "controller/steered_hosts.h"
#include "controller/traffic_views.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_route.h"

namespace fairlead::service {

// What is held against hosts by others than their agents.
struct HostMarks {
  std::map<HostId, controller::HostCondition> conditions;  // of hosts of which steering knows more than their job
  std::map<HostId, size_t> findings;                       // that hold and name the host
};
size_t HashOf(const HostMarks& marks);
std::map<HostId, size_t> CountByHost(std::span<const controller::WatchedFinding> findings);

// Called from threads of the gateway.
struct HostSource {
  std::function<std::vector<controller::HostView>()> look;  // [HostId]
  std::function<HostMarks()> marks;
};

// {"total", "next", "all": {"hosts", "connected", "need_look", "states": {STATE: count}}, "hosts": [{"name",
// "connected", "agent_version", "last_message_s", "state", "findings"}]}: total is over all pages; next is null on the
// last one; all is over all hosts, whatever is selected; connected: whose agent is.
// Errors: kInvalidArgument: a parameter or value that is not known; kNotFound: a name that no host has.
Result<Json> HostPageJson(const HostSource& source, const HttpQuery& query);

HttpRoute MakeHostRoute(HostSource source);

}  // namespace fairlead::service
