// For tests: a small Slurm inside the process, with the traps of the real one. Its programs answer in the lines that
// the real ones print, and refuse what those refuse (docs/operate/slurm.md says what was measured).
//
// Time passes with each program that is run: a job that is stopped takes three of them to end, one that is released two
// to start. Of a job that is pending again it shows the nodes that it had. What is not asked for does not change.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "slurm/host_list.h"
#include "slurm/programs.h"

namespace fairlead::slurm {

// The end of a line of kJobFields.
inline std::string SlurmColumns(std::string_view reason, std::string_view admin_comment) {
  constexpr size_t kWidth = 64;
  const auto pad = [=](std::string_view text) {
    return std::string(kWidth - std::min<size_t>(kWidth, text.size()), ' ');
  };
  const std::string_view shown = admin_comment.substr(0, kWidth);
  return fmt::format("{}{}{}{}{}{}", reason.substr(0, kWidth), pad(reason), pad(shown), shown, shown, pad(shown));
}

inline constexpr char kRequeuedReason[] = "job requeued in held state";

struct FakeJob {
  uint32_t owner = 0;
  uint32_t low = 1, high = 1;  // nodes that it wants
  uint32_t num_nodes = 1;
  uint32_t cpus = 1, tasks = 1, tasks_per_node = 1;
  uint32_t restarts = 0, starts = 0, signals = 0;
  std::string state = "PENDING";
  bool is_held = false, may_requeue = true, is_array = false, is_het = false;
  bool waits_for_credential = false;  // was requeued, and its StartTime not set since
  int64_t run_s = 0;                  // of its present run: whoever has a clock sets it
  int ticks = 0;                      // until it has ended, or may start
  int nice = 0;
  std::vector<std::string> hosts, required, excluded;
  std::string admin_comment = "(null)";
  std::string reservation;
  std::string comment, name;
  std::string held_reason = "JobHeldUser";
  bool is_held_firmly = false;        // by an operator: its user can't release it
  std::string dependency = "(null)";  // of other jobs
  std::string end_reason = "None";    // beside its state, when it is over
};
struct FakeNode {
  std::string state = "IDLE", reason;
};
struct FakeReservation {
  std::string nodes, users, flags = {};
  bool is_active = true;
};

class FakeSlurm : public Programs {
 public:
  std::map<uint32_t, FakeJob> jobs;
  std::map<std::string, FakeNode> nodes;
  std::map<std::string, FakeReservation> reservations;
  std::vector<std::string> changes;  // commands that change something, in order
  bool is_away = false;
  bool takes_tasks = true;
  bool is_partition_up = true;

  explicit FakeSlurm(size_t num_nodes = 6) {
    for (size_t i = 0; i < num_nodes; ++i) nodes[fmt::format("h{}", i)];
  }

  // Starts at once.
  FakeJob& Start(uint32_t id, FakeJob job) {
    jobs[id] = std::move(job);
    TryStart(&jobs[id]);
    return jobs[id];
  }

  // `scontrol release` by the job's user. Returns whether he may.
  bool ReleaseByUser(uint32_t id) {
    FakeJob& job = jobs.at(id);
    if (job.is_held_firmly) return false;
    return ChangeJob("release", {}, &job).empty();
  }

  Result<std::string> Run(const Command& command) override {
    if (is_away) return StatusOfFailure(command, 1, "Unable to contact slurm controller (connect failure)");
    Tick();
    if (command[0] == "squeue") return Queue(command);
    if (command[1] == "-a") return ShowPartition();
    if (command[1] == "show" && command[2] == "node") {
      if (command.size() > 4) return ShowNode(command[4]);
      std::string text;
      for (const auto& [name, node] : nodes) text += *ShowNode(name) + "\n";
      return text;
    }
    if (command[1] == "show") return ShowReservations();
    changes.push_back(fmt::format("{}", fmt::join(command, " ")));
    if (command[0] == "scancel") {
      const auto job = jobs.find(static_cast<uint32_t>(std::stoul(command.back())));
      if (job == jobs.end() || IsOver(job->second)) return StatusOfFailure(command, 1, "Invalid job id specified");
      if (command.size() > 2) {
        ++job->second.signals;
      } else {
        job->second.state = "CANCELLED";
        job->second.hosts.clear();
      }
      return std::string();
    }
    std::map<std::string, std::string> given;
    for (const std::string& word : command) {
      if (const size_t at = word.find('='); at != std::string::npos) given[word.substr(0, at)] = word.substr(at + 1);
    }
    std::string refusal;
    if (given.contains("NodeName")) {
      refusal = ChangeNode(given);
    } else if (given.contains("ReservationName") && !given.contains("JobId")) {
      refusal = ChangeReservation(command[1], given);
    } else {
      const uint32_t id = static_cast<uint32_t>(std::stoul(given.contains("JobId") ? given["JobId"] : command[2]));
      if (!jobs.contains(id)) return StatusOfFailure(command, 1, "Invalid job id specified");
      refusal = ChangeJob(command[1], given, &jobs[id]);
    }
    if (!refusal.empty()) return StatusOfFailure(command, 1, refusal);
    return std::string();
  }

 private:
  void Tick() {
    for (auto& [id, job] : jobs) {
      if (job.ticks > 0) --job.ticks;
      if (job.ticks > 0) continue;
      if (job.state == "COMPLETING") {
        job.state = "PENDING";
        job.hosts.clear();
      } else if (is_partition_up && job.state == "PENDING" && !job.is_held && !job.waits_for_credential &&
                 job.dependency == "(null)") {
        TryStart(&job);
      }
    }
  }

  void TryStart(FakeJob* job) {
    std::vector<std::string> chosen = job->required;
    for (const auto& [name, node] : nodes) {
      const auto has = [&name = name](const std::vector<std::string>& list) {
        return std::ranges::find(list, name) != list.end();
      };
      const bool is_taken = std::ranges::any_of(jobs, [&](const auto& entry) { return has(entry.second.hosts); });
      if (IsReserved(name, job->reservation)) continue;
      if (chosen.size() < job->high && !is_taken && node.state == "IDLE" && !has(job->excluded) && !has(chosen))
        chosen.push_back(name);
    }
    for (const std::string& name : job->required) {
      const bool is_taken = std::ranges::any_of(jobs, [&](const auto& entry) {
        return &entry.second != job && std::ranges::find(entry.second.hosts, name) != entry.second.hosts.end();
      });
      if (is_taken || IsReserved(name, job->reservation) || nodes[name].state != "IDLE") return;
    }
    // Processors that a job had when it was larger keep it from starting when it is smaller.
    const bool has_room = chosen.size() >= job->low && job->cpus <= 4 * chosen.size() && job->cpus >= job->tasks;
    if (!has_room) return;
    job->hosts = chosen;
    job->num_nodes = static_cast<uint32_t>(chosen.size());
    job->state = "RUNNING";
    job->run_s = 0;
    ++job->starts;
  }

  // For others than the jobs in `own`.
  bool IsReserved(const std::string& host, const std::string& own) const {
    return std::ranges::any_of(reservations, [&](const auto& entry) {
      const auto hosts = *ExpandHosts(entry.second.nodes);
      return entry.first != own && entry.second.is_active && std::ranges::find(hosts, host) != hosts.end();
    });
  }

  static bool IsOver(const FakeJob& job) {
    return job.state != "PENDING" && job.state != "RUNNING" && job.state != "COMPLETING";
  }

  std::string ChangeJob(const std::string& verb, std::map<std::string, std::string> given, FakeJob* job) {
    if (IsOver(*job) && verb != "requeuehold") return "Job has already finished";
    if (verb == "requeuehold") {
      if (job->state != "RUNNING" && !IsOver(*job)) return "Job is pending execution";
      if (!job->may_requeue) return "Requested operation is presently disabled";
      job->held_reason = kRequeuedReason;
      job->is_held_firmly = false;
      job->state = IsOver(*job) ? "PENDING" : "COMPLETING";
      job->ticks = 3;
      job->is_held = job->waits_for_credential = true;
      ++job->restarts;
      job->low = job->high = job->num_nodes;
      return "";
    }
    if (verb == "hold" || verb == "release") {
      if (job->state == "RUNNING") return "Job is no longer pending execution";
      job->is_held = job->is_held_firmly = verb == "hold";
      // What was requeued to be held goes on saying so.
      if (!job->is_held) job->held_reason.clear();
      if (job->is_held && job->held_reason != kRequeuedReason) job->held_reason = "JobHeldAdmin";
      job->ticks = std::max(job->ticks, 2);
      return "";
    }
    if (given.contains("Nice")) job->nice = std::stoi(given["Nice"]);
    if (given.contains("Comment")) {
      if (given["Comment"].size() > 1024) return "Pathname of a file, directory or other parameter too long";
      job->comment = given["Comment"];
    }
    if (given.contains("AdminComment")) job->admin_comment = given["AdminComment"];
    if (given.contains("ReservationName")) job->reservation = given["ReservationName"];
    return given.contains("NumNodes") ? Resize(given, job) : "";
  }

  std::string Resize(std::map<std::string, std::string>& given, FakeJob* job) {
    if (job->state != "PENDING") return "Requested operation not supported on this system";
    const std::string size = given["NumNodes"];
    if (size.find('-') == std::string::npos) return "Node count specification invalid";
    const auto low = static_cast<uint32_t>(std::stoul(size));
    if (low > nodes.size()) return "More processors requested than permitted";
    job->low = low;
    job->high = static_cast<uint32_t>(std::stoul(size.substr(size.find('-') + 1)));
    if (takes_tasks) job->tasks = static_cast<uint32_t>(std::stoul(given["NumTasks"]));
    if (given.contains("NumCPUs")) job->cpus = static_cast<uint32_t>(std::stoul(given["NumCPUs"]));
    job->required = *ExpandHosts(given["ReqNodeList"]);
    job->excluded = *ExpandHosts(given["ExcNodeList"]);
    if (given["StartTime"] == "now+2") job->waits_for_credential = false;
    return "";
  }

  std::string ChangeNode(std::map<std::string, std::string>& given) {
    if (!nodes.contains(given["NodeName"])) return "Invalid node name specified";
    const bool is_drain = given["State"] == "DRAIN";
    nodes[given["NodeName"]] = {is_drain ? "IDLE+DRAIN" : "IDLE", given["Reason"]};
    return "";
  }

  std::string ChangeReservation(const std::string& verb, std::map<std::string, std::string>& given) {
    const std::string name = given["ReservationName"];
    if (verb == "create" && reservations.contains(name)) return "Requested reservation name already used";
    if (verb != "create" && !reservations.contains(name)) return "Requested reservation is invalid";
    if (verb == "delete") {
      const auto is_in = [&name](const auto& entry) {
        return entry.second.reservation == name && !IsOver(entry.second);
      };
      if (std::ranges::any_of(jobs, is_in)) return "Requested reservation is in use";
      reservations.erase(name);
    } else {
      const std::string flags = verb == "create" ? given["Flags"] : reservations[name].flags;
      const std::vector<std::string> hosts = *ExpandHosts(given["Nodes"]);
      for (const std::string& host : hosts) {
        if (flags.find("OVERLAP") == std::string::npos && IsReserved(host, name)) return "Requested nodes are busy";
      }
      reservations[name] = {given["Nodes"], given["Users"], flags};
    }
    return "";
  }

  Result<std::string> Queue(const Command& command) const {
    const auto which = std::ranges::find(command, "-j");
    if (which == command.end()) {
      const auto user = std::ranges::find(command, "-u");
      const auto name = std::ranges::find(command, "-n");
      std::string text;
      for (const auto& [id, job] : jobs) {
        const bool is_meant = (user == command.end() || std::to_string(job.owner) == *(user + 1)) &&
                              (name == command.end() || job.name == *(name + 1));
        if (is_meant && !IsOver(job)) text += LineOf(id, job);
      }
      return text;
    }
    const uint32_t wanted = static_cast<uint32_t>(std::stoul(*(which + 1)));
    const auto found = jobs.find(wanted);
    if (found == jobs.end()) return StatusOfFailure(command, 1, "slurm_load_jobs error: Invalid job id specified");
    const FakeJob& j = found->second;
    if (command.back() == "%A|%n|%x|") {
      return fmt::format("{}|{}|{}|\n", wanted, fmt::join(j.required, ","), fmt::join(j.excluded, ","));
    }
    if (command.back() == "%A|%k") return fmt::format("{}|{}\n", wanted, j.comment.empty() ? "(null)" : j.comment);
    return command.back() == "--json" ? JsonOf(wanted, j) : LineOf(wanted, j);
  }

  static std::string LineOf(uint32_t id, const FakeJob& j) {
    std::string reason = "None";
    if (IsOver(j)) reason = j.end_reason;
    if (j.state == "PENDING" && j.dependency != "(null)") reason = "Dependency";
    if (j.state == "PENDING" && j.waits_for_credential) reason = "BeginTime";
    if (!IsOver(j) && j.is_held) reason = j.held_reason;
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|1|{}|0:{}|train|{}|{}|{}\n", id,
                       j.is_array ? "1-2" : "N/A", j.is_het ? "6" : "N/A", j.owner, j.state, j.restarts,
                       j.is_held ? "0" : "4294901759", j.may_requeue ? 1 : 0, j.starts == 0 ? j.low : j.num_nodes,
                       j.starts == 0 ? j.high : j.num_nodes, j.cpus, j.tasks, j.tasks_per_node, j.nice, j.run_s,
                       j.dependency, fmt::join(j.hosts, ","), SlurmColumns(reason, j.admin_comment));
  }

  // What lines have not, and as much as it takes to be one.
  static std::string JsonOf(uint32_t id, const FakeJob& j) {
    return nlohmann::json({{"jobs",
                            {{{"job_id", id},
                              {"user_id", j.owner},
                              {"job_state", j.state},
                              {"restart_cnt", j.restarts},
                              {"node_count", {{"set", true}, {"number", j.num_nodes}}},
                              {"comment", j.comment}}}}})
        .dump();
  }

  std::string ShowPartition() const {
    std::string names;
    for (const auto& [name, node] : nodes) names += (names.empty() ? "" : ",") + name;
    return "PartitionName=train Default=YES Nodes=" + names + (is_partition_up ? " State=UP\n" : " State=DOWN\n");
  }

  Result<std::string> ShowNode(const std::string& name) const {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return fmt::format("Node {} not found\n", name);
    const FakeNode& node = found->second;
    return fmt::format("NodeName={} Gres=gpu:4 State={} Partitions=train{}\n", name, node.state,
                       node.reason.empty() ? "" : fmt::format(" Reason={} [root@2026-11-24T15:46:19]", node.reason));
  }

  Result<std::string> ShowReservations() const {
    std::string text;
    for (const auto& [name, reservation] : reservations) {
      text += fmt::format("ReservationName={} Nodes={} Users={} State={}\n", name, reservation.nodes, reservation.users,
                          reservation.is_active ? "ACTIVE" : "INACTIVE");
    }
    return text.empty() ? "No reservations in the system\n" : text;
  }
};

}  // namespace fairlead::slurm
