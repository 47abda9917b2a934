#include "cli/cluster/cluster_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/whole_number.h"
#include "cli/fact_lines.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::cli {

namespace {

using report::Align;
using report::Document;
using report::FormatCount;
using report::FormatFixed;
using report::TextTable;

constexpr size_t kSharersShown = 3;

report::TextColumn Name(std::string heading, std::string meaning = "") {
  return {.heading = std::move(heading), .align = Align::kLeft, .meaning = std::move(meaning)};
}
report::TextColumn Number(std::string heading, std::string meaning = "") {
  return {.heading = std::move(heading), .align = Align::kRight, .meaning = std::move(meaning)};
}

std::string Unknown() { return std::string(report::kUnknown); }

std::string Duration(std::optional<double> seconds) { return seconds ? report::FormatDuration(*seconds) : Unknown(); }

std::string Moment(std::optional<double> seconds) { return seconds ? UtcText(*seconds) : Unknown(); }

std::string Sharers(const wire::LiveJob& job) {
  if (job.shares_with.size() <= kSharersShown) return fmt::format("{}", fmt::join(job.shares_with, ", "));
  const auto first = std::span(job.shares_with).first(kSharersShown);
  return fmt::format("{} and {} more", fmt::join(first, ", "), job.shares_with.size() - kSharersShown);
}

bool Holds(const wire::LiveFinding& finding) { return !finding.cleared_at_s.has_value(); }

double LostGpus(const wire::LiveJob& job) { return job.lost_gpus.value_or(0); }

Document Titled(const std::string& title, Document table) {
  return table.empty() ? Document() : "\n" + title + "\n\n" + std::move(table);
}

std::vector<wire::LiveFinding> FindingsOf(const ClusterState& state, const auto& is_of) {
  std::vector<wire::LiveFinding> found;
  std::ranges::copy_if(state.findings, std::back_inserter(found),
                       [&](const wire::LiveFinding& finding) { return Holds(finding) && is_of(finding); });
  return found;
}

// "no_agent" as "no agent".
std::string Words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// Of a host's NIC, "h3/nic0": the host.
std::string_view HostPart(std::string_view nic) { return nic.substr(0, nic.find('/')); }

wire::ConnectionList Those(const wire::ConnectionList& all, const auto& is_wanted) {
  wire::ConnectionList some;
  std::ranges::copy_if(all.connections, std::back_inserter(some.connections), is_wanted);
  some.total = some.connections.size();
  return some;
}

}  // namespace

ClusterTotals TotalsOf(const ClusterState& state) {
  ClusterTotals totals;
  for (const wire::LiveJob& job : state.jobs) {
    totals.gpus += job.gpus;
    totals.lost_gpus += LostGpus(job);
  }
  totals.findings = static_cast<size_t>(std::ranges::count_if(state.findings, Holds));
  return totals;
}

void SortByLoss(std::vector<wire::LiveJob>* jobs) {
  std::ranges::sort(*jobs, [](const wire::LiveJob& a, const wire::LiveJob& b) {
    return std::pair(-LostGpus(a), std::string_view(a.name)) < std::pair(-LostGpus(b), std::string_view(b.name));
  });
}

std::string UtcText(double seconds_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

double SlowdownOf(const wire::LiveJob& job) {
  if (!job.iteration_s || !job.fastest_iteration_s || *job.fastest_iteration_s <= 0) return 0;
  return std::max(1.0, *job.iteration_s / *job.fastest_iteration_s);
}

Document JobTable(std::span<const wire::LiveJob> jobs) {
  if (jobs.empty()) return "No job has connections.\n";
  TextTable table({Name("job"), Number("GPUs"),
                   Number("lost", "GPUs' worth of time that the job loses now, against its fastest iteration"),
                   Number("slower", "how many times as long as its fastest iteration since the controller measures it"),
                   Number("iteration"), Number("level", "priority on the network; 0 goes first"),
                   Name("fullest link", "of those on its paths, by load over capacity"),
                   Name("shared with", "the other jobs on that link")});
  for (const wire::LiveJob& job : jobs) {
    table.AddRow({job.name, job.gpus > 0 ? FormatCount(job.gpus) : Unknown(),
                  job.lost_gpus ? FormatFixed(*job.lost_gpus, 1) : Unknown(), report::FormatSlowdown(SlowdownOf(job)),
                  Duration(job.iteration_s), FormatCount(job.level), job.fullest_link.value_or(Unknown()),
                  Sharers(job)});
  }
  return Document(std::move(table));
}

Document LinkTable(const wire::LinkList& list) {
  if (list.links.empty()) return "No link is shown.\n";
  TextTable table({Name("link"), Name("tier"), Name("state"), Number("health", "share of its capacity that is left"),
                   Number("capacity"), Number("queue pairs"),
                   Number("load", "sum of the weights of the queue pairs on it")});
  for (const wire::LiveLink& link : list.links) {
    table.AddRow({link.name, link.tier, link.state, report::FormatPercent(link.health),
                  report::FormatLinkSpeed(link.capacity_bytes_per_s), FormatCount(link.queue_pairs),
                  report::FormatShort(link.load)});
  }
  Document document(std::move(table));
  if (list.total > list.links.size()) {
    document += fmt::format(
        "The first {} of {} links: those that are not up, then by load over what is left of the "
        "capacity.\n",
        FormatCount(list.links.size()), FormatCount(list.total));
  }
  return document;
}

Document HostTable(const wire::HostList& list, double now_s) {
  if (list.hosts.empty()) return list.all.hosts == 0 ? "The fabric has no hosts.\n" : "No host is like that.\n";
  TextTable table({Name("host"), Name("state"), Name("agent"), Number("last message", "how long ago"),
                   Number("findings", "that hold and name the host")});
  for (const wire::LiveHost& host : list.hosts) {
    const std::string age =
        host.last_message_s ? report::FormatDuration(std::max(0.0, now_s - *host.last_message_s)) : Unknown();
    table.AddRow({host.name, Words(host.state), host.agent_version.empty() ? Unknown() : host.agent_version, age,
                  FormatCount(host.findings)});
  }
  Document document(std::move(table));
  if (list.total > list.hosts.size()) {
    document += fmt::format("The first {} of {} hosts: those that need a look first.\n", FormatCount(list.hosts.size()),
                            FormatCount(list.total));
  }
  return document;
}

Document FindingTable(std::span<const wire::LiveFinding> findings, bool all) {
  TextTable table({Number("id"), Name("job"), Name("since", "UTC"), Name("culprit"),
                   Number("sure", "how likely it is right"), Name("advice"), Name("finding")});
  for (const wire::LiveFinding& finding : findings) {
    if (!all && !Holds(finding)) continue;
    table.AddRow({FormatCount(finding.id), finding.job, Moment(finding.confirmed_at_s),
                  fmt::format("{}", fmt::join(finding.culprits, ", ")),
                  finding.confidence ? report::FormatPercent(*finding.confidence) : Unknown(),
                  Holds(finding) ? finding.action : "over", finding.text});
  }
  if (table.empty()) return all ? "No fault was found.\n" : "No finding holds.\n";
  return Document(std::move(table));
}

Document ConnectionTable(const wire::ConnectionList& list) {
  if (list.connections.empty()) return "No connection is known.\n";
  TextTable table({Name("job"), Number("connection"), Number("QP", "queue pair of the connection, or its TCP socket"),
                   Number("pid", "process that opened it, on the host that it comes from"), Name("from"), Name("to"),
                   Number("port", "source port of its packets; 0: not open"), Name("links", "on its path")});
  for (const wire::LiveConnection& connection : list.connections) {
    table.AddRow({connection.job, fmt::format("{}", connection.connection), fmt::format("{}", connection.queue_pair),
                  connection.pid ? fmt::format("{}", *connection.pid) : Unknown(), connection.source,
                  connection.destination, fmt::format("{}", connection.wire_port),
                  connection.links.empty() ? connection.answer : fmt::format("{}", fmt::join(connection.links, " "))});
  }
  Document document(std::move(table));
  if (list.total > list.connections.size()) {
    document += fmt::format("and {} more; --limit shows more\n", FormatCount(list.total - list.connections.size()));
  }
  return document;
}

Document EventTable(std::span<const wire::LiveEvent> events) {
  if (events.empty()) return "Nothing has happened.\n";
  TextTable table({Name("time", "UTC"), Name("severity"), Name("subject"), Name("what happened")});
  for (const wire::LiveEvent& event : events) {
    table.AddRow({Moment(event.time_s), event.severity, event.subject, event.text});
  }
  return Document(std::move(table));
}

Document SizeTable(std::span<const wire::SizedJob> jobs) {
  if (jobs.empty()) return "No elastic job.\n";
  TextTable table({Name("job"), Number("nodes", "that it is to have; 0: it waits"), Number("of", "that it may have"),
                   Number("steps"), Number("done"), Number("node-hours", "that it has had"), Number("restarts"),
                   Number("each", "what a restart costs, up to the first steps after it"),
                   Name("why", "the last decision about it")});
  for (const wire::SizedJob& job : jobs) {
    const bool is_known = job.steps.has_value() && *job.steps > 0;
    table.AddRow({fmt::format("{}", job.job), FormatCount(job.nodes),
                  fmt::format("{}-{}", job.nodes_min, job.nodes_max), is_known ? FormatCount(*job.steps) : Unknown(),
                  is_known ? report::FormatPercent(job.steps_done / static_cast<double>(*job.steps)) : Unknown(),
                  FormatFixed(job.node_seconds / 3600, 2), FormatCount(job.restarts),
                  report::FormatDuration(job.restart_cost_s), report::CleanText(job.reason)});
  }
  return Document(std::move(table));
}

Document NodeCheckTable(const wire::LiveNodeCheck& check) {
  std::vector<const wire::LiveCheckedHost*> hosts;
  for (const wire::LiveCheckedHost& host : check.hosts) hosts.push_back(&host);
  const auto rank = [](const wire::LiveCheckedHost* host) {
    return host->verdict == "failed" ? 0 : host->verdict == "passed" ? 2 : 1;
  };
  std::ranges::stable_sort(hosts, {}, rank);
  TextTable table({Name("host"), Name("verdict"),
                   Number("rate", "of its worst direction and NIC, with its best partner: of what is usual here"),
                   Number("burn-in", "score of the operator's program"), Name("why")});
  for (const wire::LiveCheckedHost* host : hosts) {
    std::vector<std::string> reasons = host->reasons;
    if (host->is_partner) reasons.insert(reasons.begin(), "a partner of the others");
    table.AddRow({host->name, host->verdict, host->rate_share ? report::FormatPercent(*host->rate_share) : Unknown(),
                  host->burn_in_score ? report::FormatShort(*host->burn_in_score) : Unknown(),
                  report::CleanText(fmt::format("{}", fmt::join(reasons, "; ")))});
  }
  Document document(std::move(table));
  if (check.usual_bytes_per_s > 0) {
    document += fmt::format("A NIC usually carries {} here.\n", report::FormatLinkSpeed(check.usual_bytes_per_s));
  }
  return document;
}

std::string ClusterSummary(const ClusterState& state) {
  std::string text;
  for (const auto& [host_state, count] : state.hosts.all.states) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(count), Words(host_state));
  }
  const auto [gpus, lost, num_findings] = TotalsOf(state);
  const std::string share =
      gpus > 0 ? fmt::format(" ({})", report::FormatPercent(lost / static_cast<double>(gpus))) : "";
  return fmt::format("hosts: {}\njobs: {} on {}, losing {}{}; {}; steering: {}, {} under way\n",
                     text.empty() ? "none" : text, FormatCount(state.jobs.size()), FormatCount(gpus, "GPU"),
                     FormatFixed(lost, 1), share, FormatCount(num_findings, "finding"),
                     state.steering.mode.empty() ? "off" : state.steering.mode,
                     FormatCount(state.steering.open_actions.size(), "action"));
}

Document DescribeJob(const wire::LiveJob& job, const ClusterState& state, const wire::ConnectionList& connections) {
  FactLines facts;
  facts.Add("job", job.name);
  facts.Add("owner", job.owner ? fmt::format("user {}", *job.owner) : Unknown());
  facts.Add("size", fmt::format("{}, {}", FormatCount(job.hosts, "host"), FormatCount(job.gpus, "GPU")));
  facts.Add("connections", fmt::format("{}, {} queue pairs without a path of ours", FormatCount(job.connections),
                                       FormatCount(job.unmanaged_queue_pairs)));
  facts.Add("iteration", fmt::format("{}; fastest {} ({})", Duration(job.iteration_s),
                                     Duration(job.fastest_iteration_s), report::FormatSlowdown(SlowdownOf(job))));
  facts.Add("lost now",
            job.lost_gpus ? fmt::format("{} GPUs' worth of time", FormatFixed(*job.lost_gpus, 1)) : Unknown());
  facts.Add("fullest link", job.fullest_link.value_or(Unknown()));
  facts.Add("shared with",
            job.shares_with.empty() ? "no other job" : fmt::format("{}", fmt::join(job.shares_with, ", ")));
  facts.Add("level", fmt::format("{}: {}", job.level, job.reason));
  Document document = facts.Take();
  const auto findings = FindingsOf(state, [&](const wire::LiveFinding& finding) { return finding.job == job.name; });
  if (!findings.empty()) document += Titled("Findings", FindingTable(findings, true));
  if (!connections.connections.empty()) document += Titled("Connections", ConnectionTable(connections));
  return document;
}

std::optional<uint32_t> SlurmNumberOf(std::string_view name) {
  constexpr std::string_view kSlurm = "slurm-";
  size_t begin = 0;
  if (!name.starts_with(kSlurm)) {
    begin = name.rfind('.');
    if (begin++ == std::string_view::npos || !name.substr(begin).starts_with(kSlurm)) return std::nullopt;
  }
  name.remove_prefix(begin + kSlurm.size());
  return ParseWhole<uint32_t>(name.substr(0, name.find('@')));
}

Document DescribeSlurmJob(const wire::SlurmAccount& account, const wire::SizedJob* size) {
  FactLines facts;
  facts.Add("in Slurm", fmt::format("job {} of user {}", account.job, account.owner));
  std::string state = account.state.value_or("not shown any more");
  if (account.held) state += ", held";
  if (!account.hosts.empty()) {
    state += fmt::format(" on {}: {}", FormatCount(account.hosts.size(), "host"), fmt::join(account.hosts, ", "));
  }
  if (!account.pending_reason.empty()) state += fmt::format(" ({})", account.pending_reason);
  facts.Add("state", state);
  if (account.restarts > 0) facts.Add("restarts", FormatCount(account.restarts));
  if (size != nullptr) {
    facts.Add("size", fmt::format("{} of {} to {} nodes: {}", size->nodes, size->nodes_min, size->nodes_max,
                                  size->reason.empty() ? "not decided yet" : size->reason));
    facts.Add("a restart costs", report::FormatDuration(size->restart_cost_s));
  }
  Document document = facts.Take();
  if (account.entries.empty()) return document += "\nFairlead has done nothing to this job.\n";
  TextTable table({Name("time", "UTC"), Name("about"), Name("what was done, and why")});
  for (const wire::SlurmAccountEntry& entry : account.entries) {
    table.AddRow({UtcText(entry.time_s), report::CleanText(entry.kind), report::CleanText(entry.text)});
  }
  document += Titled("What Fairlead did", Document(std::move(table)));
  if (account.left_out > 0) document += fmt::format("and {} before\n", FormatCount(account.left_out));
  return document;
}

Document DescribeLink(const wire::LiveLink& link, const wire::ConnectionList& connections) {
  const wire::ConnectionList on_it = Those(connections, [&](const wire::LiveConnection& connection) {
    return std::ranges::find(connection.links, link.name) != connection.links.end();
  });
  std::map<std::string, size_t> jobs;
  for (const wire::LiveConnection& connection : on_it.connections) ++jobs[connection.job];
  FactLines facts;
  facts.Add("link", link.name);
  facts.Add("from, to", fmt::format("{} ({}), {}", link.from, link.tier, link.to));
  facts.Add("state", fmt::format("{}, {} of {} left", link.state, report::FormatPercent(link.health),
                                 report::FormatLinkSpeed(link.capacity_bytes_per_s)));
  facts.Add("load", fmt::format("{} of {} queue pairs", report::FormatShort(link.load), FormatCount(link.queue_pairs)));
  std::string users;
  for (const auto& [job, count] : jobs) {
    users += fmt::format("{}{} ({})", users.empty() ? "" : ", ", job, FormatCount(count, "queue pair"));
  }
  facts.Add("jobs", users.empty() ? "none" : users);
  Document document = facts.Take();
  if (!on_it.connections.empty()) document += Titled("Connections", ConnectionTable(on_it));
  return document;
}

Document DescribeHost(const wire::LiveHost& host, const ClusterState& state, const wire::ConnectionList& connections) {
  std::set<std::string> jobs;
  for (const wire::LiveConnection& connection : connections.connections) {
    if (HostPart(connection.source) == host.name || HostPart(connection.destination) == host.name) {
      jobs.insert(connection.job);
    }
  }
  FactLines facts;
  facts.Add("host", host.name);
  facts.Add("state", host.state.empty() ? Unknown() : Words(host.state));
  facts.Add("agent", host.agent_version.empty() ? Unknown() : host.agent_version);
  facts.Add("last message", Moment(host.last_message_s));
  facts.Add("jobs", jobs.empty() ? "none" : fmt::format("{}", fmt::join(jobs, ", ")));
  Document document = facts.Take();
  const auto findings = FindingsOf(state, [&](const wire::LiveFinding& finding) {
    return std::ranges::find(finding.hosts, host.name) != finding.hosts.end();
  });
  if (!findings.empty()) document += Titled("Findings", FindingTable(findings, true));
  return document;
}

}  // namespace fairlead::cli
