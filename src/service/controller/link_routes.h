// The links of the network over HTTP: as pages, the worst and the fullest first, and what of them an overview shows.
//
//     GET /v1/links                      the first page; "next" of an answer, as `after`, leads to the one behind it
//     GET /v1/links/overview             those that are not up, the fullest, and a matrix for each tier of switches
//
// What can be asked of /v1/links, all together:
//
//     limit=N             links of a page: 1 to 10,000; else 1,000
//     after=NEXT          the page behind the one with that "next"
//     order=worst|fabric  down, then otherwise not up, then by load over what is left of the capacity (the default); or
//                         as the fabric numbers them
//     state=up|not_up|suspect|down|probation      not_up: another state than up, or not all of its capacity left
//     idle=false          without those that are up and that nobody uses
//     tier=host-leaf|leaf-spine|spine-core
//     endpoint=NAME       from or to that host, NIC or switch
//     beside=LINK         that link, and all others between the same two nodes
//     job=NAME            on the job's paths
//     text=PART           whose name has that part, upper and lower case alike
//
// Pages     in the fabric's order each link comes once, whatever happens between two requests. Among the worst, each
//           link that stays as it was comes once; one that changes may come twice or not at all.
// Cost      O(links + size of the page * log): one look at the controller, whatever the page's size.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "controller/traffic_views.h"
#include "service/controller/traffic_json.h"
#include "service/http/http_route.h"
#include "topology/fabric.h"

namespace fairlead::service {

// Called from threads of the gateway.
struct LinkSource {
  std::function<std::vector<controller::LinkOnFabric>()> look;  // all of the network, by number
  std::function<std::vector<controller::JobPaths>()> paths;     // only where a job is asked for
};

// {"total", "next", "all": {"links", "not_up", "in_use", "fullest"}, "links": [{"name", "from", "to", "tier",
// "capacity_bytes_per_s", "state", "health", "queue_pairs", "load"}]}: total is over all pages; next is null on the
// last one; fullest: the largest load over what is left of the capacity, of links with any.
// Errors: kInvalidArgument: a parameter or value that is not known; kNotFound: an endpoint or link that is not there.
Result<Json> LinkPageJson(const topology::Fabric& fabric, const LinkSource& source, const HttpQuery& query);

// {"all", "not_up": [at most 50], "fullest": [at most 10 that are up and in use], "matrices": [{"tier", "rows",
// "columns", "cells": [{"below", "above", "links"}]}]}: of a matrix the 24 rows and 32 columns with the worst links,
// and how many there are.
Json LinkOverviewJson(const topology::Fabric& fabric, std::span<const controller::LinkOnFabric> links);

// Both. `fabric` must outlive them.
std::vector<HttpRoute> LinkRoutes(const topology::Fabric& fabric, const LinkSource& source);

}  // namespace fairlead::service
