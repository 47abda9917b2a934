// The fwl workload format: links, jobs, and flows with explicit paths, the common input for comparing fluid simulators.
//
//     fwl 1
//     linkcaps <num_links> <capacity, bytes/s>              all links have this capacity
//     jobs <num_jobs>
//     job <id> <priority> <compute_s> <iterations> <start_s> <num_flows>
//     f <bytes> <num_links> <link> …                        num_flows lines
//
// A job starts at start_s and repeats: compute for compute_s, then start all flows at once; the iteration ends with the
// last. One record is one line, fields are separated by one space, the last line may lack its newline.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::sim {

struct FwlFlow {
  double bytes;         // >= 0
  uint32_t first_link;  // range of FwlWorkload::route_links
  uint32_t num_links;   // >= 1
};

struct FwlJob {
  int64_t id;
  uint32_t priority;  // 0 = most important
  double compute_s;   // >= 0
  double start_s;     // >= 0
  uint32_t iterations;
  uint32_t first_flow;  // range of FwlWorkload::flows
  uint32_t num_flows;
};

struct FwlWorkload {
  // Only links that some flow crosses are kept, numbered in order of first use.
  uint32_t num_links = 0;
  double capacity = 0;  // bytes/s, > 0
  std::vector<FwlJob> jobs;
  std::vector<FwlFlow> flows;         // ordered by job
  std::vector<uint32_t> route_links;  // ordered by flow

  std::span<const FwlFlow> FlowsOf(const FwlJob& job) const { return {flows.data() + job.first_flow, job.num_flows}; }
  std::span<const uint32_t> RouteOf(const FwlFlow& flow) const {
    return {route_links.data() + flow.first_link, flow.num_links};
  }
};

// Link ids in a file are below this.
constexpr uint32_t kFwlMaxLinks = 1u << 26;
// A job that computes for longer than this in total is refused (it would leave the range of the simulation clock).
constexpr double kFwlMaxSeconds = 1e9;

// Errors: kNotFound, kInvalidArgument with "file:line: expected …, found …".
// Cost: one pass; memory is bounded by a small multiple of the file's size, whatever its counts claim, plus 4 bytes per
// link id up to the largest in use.
Result<FwlWorkload> LoadFwlWorkload(const std::string& path);
// `name` replaces the file name in messages.
Result<FwlWorkload> ParseFwlWorkload(std::string_view text, const std::string& name);

}  // namespace fairlead::sim
