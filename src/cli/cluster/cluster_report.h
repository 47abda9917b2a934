// Tables of a running cluster: what `fairlead get` and `describe` print, and `top` shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "wire/cluster_records.h"
#include "wire/node_check_records.h"

namespace fairlead::cli {

// What of a cluster one screen is made of.
struct ClusterState {
  std::string server;
  double now_s = 0;  // since 1970
  std::vector<wire::LiveJob> jobs;
  wire::HostList hosts;  // totals, and a page where hosts are shown
  std::vector<wire::LiveFinding> findings;
  wire::LinkList links;  // the worst and the fullest, only where they are shown
  wire::LiveSteeringView steering;
};

// Over all jobs and findings.
struct ClusterTotals {
  uint64_t gpus = 0;
  double lost_gpus = 0;
  size_t findings = 0;  // that hold
};
ClusterTotals TotalsOf(const ClusterState& state);

// Those that lose the most first; of others the name decides.
void SortByLoss(std::vector<wire::LiveJob>* jobs);

// "2026-11-24 12:34:56": UTC.
std::string UtcText(double seconds_since_1970);
// Times as long as its fastest iteration; 0: unknown.
double SlowdownOf(const wire::LiveJob& job);

report::Document JobTable(std::span<const wire::LiveJob> jobs);
// As the controller has sorted them, and how many there are where some are left out.
report::Document LinkTable(const wire::LinkList& list);
// As the controller has sorted them. Args: now_s: since 1970.
report::Document HostTable(const wire::HostList& list, double now_s);
// Args: all: also those that are over.
report::Document FindingTable(std::span<const wire::LiveFinding> findings, bool all);
report::Document ConnectionTable(const wire::ConnectionList& list);
report::Document EventTable(std::span<const wire::LiveEvent> events);
report::Document SizeTable(std::span<const wire::SizedJob> jobs);
// Of a check that is over; those that failed first.
report::Document NodeCheckTable(const wire::LiveNodeCheck& check);

// Two lines: hosts, jobs, what is lost, findings, steering.
std::string ClusterSummary(const ClusterState& state);

// All that is known of one.
report::Document DescribeJob(const wire::LiveJob& job, const ClusterState& state,
                             const wire::ConnectionList& connections);
// Of a job of Slurm: how it is there, what was done to it and why. Args: size: null: it is not elastic.
report::Document DescribeSlurmJob(const wire::SlurmAccount& account, const wire::SizedJob* size);
// "slurm-4711", or a job's name that ends in ".slurm-4711" or has an owner behind it: 4711. Nothing: it names none.
std::optional<uint32_t> SlurmNumberOf(std::string_view name);
report::Document DescribeLink(const wire::LiveLink& link, const wire::ConnectionList& connections);
report::Document DescribeHost(const wire::LiveHost& host, const ClusterState& state,
                              const wire::ConnectionList& connections);

}  // namespace fairlead::cli
