#include "sim/chaos/calm_laws.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/agent_state.h"
#include "agent/host_agent.h"

namespace fairlead::sim::chaos {

using agent::KeptConnection;
using agent::SocketPair;
using controller::QueuePairOnFabric;

namespace {

using Key = std::pair<std::string, uint64_t>;  // job, connection

// From the start of a job to its layout, and for findings to clear.
constexpr SimDuration kWatchedWithin(15'000'000'000);

class CalmCheck {
 public:
  explicit CalmCheck(const CalmSurroundings& world) : world_(world) {}

  std::optional<CalmFault> Find() {
    CheckStreams();
    if (fault_.has_value()) return fault_;
    for (const auto& agent : world_.agents) states_.push_back(agent->core().State());
    for (const QueuePairOnFabric& pair : world_.controller.core().QueuePairs()) {
      const bool is_new = pairs_.emplace(Key{pair.job, pair.connection}, pair).second;
      Expect(is_new, "a connection has one reservation",
             [&] { return fmt::format("{} connection {:x} has two", pair.job, pair.connection); });
    }
    for (uint32_t h = 0; h < states_.size(); ++h) {
      for (const KeptConnection& kept : states_[h].connections) CheckHeld(h, kept);
    }
    CheckReports();
    CheckNothingElseIsReserved();
    CheckSendersAreHeld();
    CheckRules();
    CheckClasses();
    CheckIsolations();
    CheckJobs();
    return fault_;
  }

 private:
  template <class Text>
  void Expect(bool holds, std::string_view law, const Text& text) {
    if (!holds && !fault_.has_value()) fault_ = CalmFault{std::string(law), text()};
  }

  std::string HostName(uint32_t host) const { return world_.network.HostName(HostId(host)); }
  std::string Describe(uint32_t host, const KeptConnection& kept) const {
    return fmt::format("{} connection {:x} of {}, socket port {}, port {} on the wire", kept.job,
                       kept.wanted.connection, HostName(host), kept.socket_port, kept.wire_port);
  }

  void CheckStreams() {
    Expect(world_.controller.is_running(), "the controller runs", [] { return "it does not"; });
    for (uint32_t h = 0; h < world_.agents.size(); ++h) {
      const bool is_connected = world_.agents[h]->is_running() && world_.agents[h]->core().is_welcome();
      Expect(is_connected, "every agent is connected", [&] { return HostName(h) + " is not"; });
    }
  }

  void CheckHeld(uint32_t host, const KeptConnection& kept) {
    const SocketPair ends = {kept.wanted.source, kept.wanted.destination, kept.socket_port,
                             kept.wanted.destination_port};
    const auto& sockets = world_.kernels[host]->sockets();
    const bool has_socket = std::ranges::any_of(sockets, [&](const auto& entry) { return entry.second.ends == ends; });
    Expect(has_socket, "an agent holds live connections only", [&] { return Describe(host, kept) + " has no socket"; });
    Expect(held_.emplace(host, ends).second, "an agent holds a connection once",
           [&] { return Describe(host, kept) + " is held twice"; });
    Expect(world_.kernels[host]->WirePortOf(ends) == kept.wire_port, "an agent knows what the kernel rewrites", [&] {
      return fmt::format("{}, but the kernel's is {}", Describe(host, kept), world_.kernels[host]->WirePortOf(ends));
    });
    const auto pair = pairs_.find({kept.job, kept.wanted.connection});
    Expect(pair != pairs_.end(), "the controller knows every connection",
           [&] { return Describe(host, kept) + " is unknown to it"; });
    if (pair != pairs_.end()) CheckPath(host, kept, pair->second);
  }

  void CheckPath(uint32_t host, const KeptConnection& kept, const QueuePairOnFabric& pair) {
    Expect(pair.answer.kind == traffic::QueuePairAnswer::Kind::kUse, "every connection has a path", [&] {
      return fmt::format("{} has none: answer of kind {}", Describe(host, kept), static_cast<int>(pair.answer.kind));
    });
    Expect(pair.wire_port == kept.wire_port, "the controller knows every port",
           [&] { return fmt::format("{}, but the controller has port {}", Describe(host, kept), pair.wire_port); });
    Expect(std::ranges::all_of(pair.links, [&](LinkId link) { return world_.network.IsUp(link); }),
           "paths avoid cables that are down", [&] { return Describe(host, kept); });
    const std::vector<LinkId> route = world_.network.RouteOf({.source = kept.wanted.source,
                                                              .destination = kept.wanted.destination,
                                                              .source_port = kept.wire_port,
                                                              .destination_port = kept.wanted.destination_port});
    Expect(route == pair.links, "packets take the path of the controller", [&] {
      return fmt::format("{} takes {}, the controller has {} by port {}", Describe(host, kept), NamesOf(route),
                         NamesOf(pair.links), pair.answer.port);
    });
  }

  std::string NamesOf(const std::vector<LinkId>& links) const {
    std::string names;
    for (const LinkId link : links) names += (names.empty() ? "" : ", ") + world_.network.fabric().LinkName(link);
    return names.empty() ? "no path" : names;
  }

  void CheckReports() {
    const topology::Fabric& fabric = world_.network.fabric();
    for (const controller::LinkOnFabric& link : world_.controller.core().Links()) {
      const bool is_taken_out = link.link == world_.taken_out || link.link == fabric.reverse(world_.taken_out);
      Expect(!is_taken_out || link.health == 0, "the controller remembers what operators report",
             [&] { return fmt::format("{} counts as {}", fabric.LinkName(link.link), traffic::Name(link.state)); });
      Expect(!is_taken_out || link.num_queue_pairs == 0, "paths avoid what operators report", [&] {
        return fmt::format("{} carries {} queue pairs", fabric.LinkName(link.link), link.num_queue_pairs);
      });
    }
  }

  void CheckNothingElseIsReserved() {
    std::set<Key> held;
    for (const agent::AgentState& state : states_) {
      for (const KeptConnection& kept : state.connections) held.insert({kept.job, kept.wanted.connection});
    }
    for (const auto& [key, pair] : pairs_) {
      Expect(held.contains(key), "the controller holds live connections only", [&, &key = key, &pair = pair] {
        return fmt::format("{} connection {:x} from NIC {} to NIC {}, port {}", key.first, key.second,
                           pair.source.value(), pair.destination.value(), pair.wire_port);
      });
    }
  }

  void CheckSendersAreHeld() {
    for (uint32_t h = 0; h < world_.kernels.size(); ++h) {
      for (const auto& entry : world_.kernels[h]->sockets()) {
        const auto& socket = entry.second;
        if (socket.bytes_per_second == 0) continue;
        Expect(held_.contains({h, socket.ends}), "an agent holds every connection that sends", [&] {
          return fmt::format("{} of {} on {}, port {} to port {}, is not held",
                             socket.is_client ? "a client" : "a server", socket.job, HostName(h),
                             socket.ends.local_port, socket.ends.remote_port);
        });
      }
    }
  }

  void CheckRules() {
    for (uint32_t h = 0; h < world_.kernels.size(); ++h) {
      std::set<SocketPair> alive;
      for (const auto& [inode, socket] : world_.kernels[h]->sockets()) alive.insert(socket.ends);
      for (const auto& [rule, port] : world_.kernels[h]->rules()) {
        Expect(alive.contains(EndsOf(rule, port)), "kernels rewrite for live connections only", [&, rule = rule] {
          const bool departs = rule.direction == agent::RewriteRule::Direction::kDeparture;
          return fmt::format("{} rewrites packets that {} with port {}, from {} to {} port {}", HostName(h),
                             departs ? "leave" : "arrive", rule.from_port, rule.source.ToString(),
                             rule.destination.ToString(), rule.destination_port);
        });
      }
    }
  }

  void CheckClasses() {
    std::map<std::string, uint32_t> levels;
    for (const controller::JobOnFabric& job : world_.controller.core().Jobs()) levels[job.name] = job.level;
    for (uint32_t h = 0; h < world_.kernels.size(); ++h) {
      for (const auto& [inode, socket] : world_.kernels[h]->sockets()) {
        if (!held_.contains({h, socket.ends})) continue;
        const auto level = levels.find(socket.job);
        const bool holds =
            level != levels.end() && socket.traffic_class.value_or(0) == agent::TrafficClassOf(level->second);
        Expect(holds, "a socket has the class of its job's level", [&, &socket = socket] {
          return fmt::format("{} on {}, port {}: class {}, level {}", socket.job, HostName(h), socket.ends.local_port,
                             socket.traffic_class.has_value() ? std::to_string(*socket.traffic_class) : "none",
                             level == levels.end() ? "unknown" : std::to_string(level->second));
        });
      }
    }
  }

  // What the scheduler did is what steering knows, unless it says that it does not know.
  void CheckIsolations() {
    const controller::Steering& steering = world_.controller.diagnosis().steering().steering();
    for (uint32_t h = 0; h < world_.agents.size(); ++h) {
      const controller::HostCondition condition = steering.ConditionOf(HostId(h));
      if (condition == controller::HostCondition::kInDoubt) continue;
      const bool is_away = world_.scheduler.isolated().contains(h);
      const bool is_known_to_be =
          condition == controller::HostCondition::kIsolated || condition == controller::HostCondition::kIsolating;
      Expect(is_away == is_known_to_be, "steering knows which hosts are isolated", [&] {
        return fmt::format("{} is {}isolated, and counts as {}", HostName(h), is_away ? "" : "not ",
                           controller::Name(condition));
      });
    }
  }

  // By its name: a diagnosis that has just begun knows none that is stopped.
  std::optional<controller::JobCondition> ConditionOf(std::string_view name) const {
    const controller::KeptSteering& kept = world_.controller.diagnosis().steering();
    for (const auto& [id, known] : kept.job_names()) {
      const auto condition = known == name ? kept.steering().ConditionOf(id) : std::nullopt;
      if (condition.has_value()) return condition;
    }
    return std::nullopt;
  }

  // A job runs, and is watched with all its processes; or steering keeps it, and says so.
  void CheckJobs() {
    const controller::JobWatch& watch = world_.controller.diagnosis().watch();
    const std::vector<controller::WatchedJob> watched = watch.Jobs();
    for (const VirtualJobs::State& job : world_.jobs.States()) {
      const auto id = watch.FindJob(std::string(job.name));
      if (job.is_held) {
        const std::optional<controller::JobCondition> condition = ConditionOf(job.name);
        Expect(condition.has_value() && *condition != controller::JobCondition::kRunning,
               "steering forgets no job that it has stopped", [&] {
                 return fmt::format("{} is stopped, and counts as {}", job.name,
                                    condition.has_value() ? controller::Name(*condition) : "unknown");
               });
        continue;
      }
      if (!job.is_running || job.is_broken || world_.now - job.started_at < kWatchedWithin) continue;
      const auto found = std::ranges::find(watched, id.value_or(JobId()), &controller::WatchedJob::id);
      const bool is_whole = found != watched.end() && found->num_ranks == job.hosts.size() &&
                            std::ranges::is_permutation(found->hosts, job.hosts, {}, &HostId::value);
      Expect(is_whole, "every job is watched", [&] {
        return fmt::format("{} has {} processes, of which {} are watched{}", job.name, job.hosts.size(),
                           found == watched.end() ? 0 : found->num_ranks,
                           found == watched.end() || found->notes.empty() ? "" : ": " + found->notes.front());
      });
      for (const controller::WatchedFinding& finding : watch.Findings()) {
        const bool holds = finding.job == job.name && finding.finding.state == model::FindingState::kConfirmed;
        Expect(!holds, "no finding holds about a job that is well", [&] { return finding.finding.summary; });
      }
    }
  }

  const CalmSurroundings& world_;
  std::vector<agent::AgentState> states_;           // [host]
  std::map<Key, QueuePairOnFabric> pairs_;          // of the controller
  std::set<std::pair<uint32_t, SocketPair>> held_;  // by agents
  std::optional<CalmFault> fault_;
};

}  // namespace

std::optional<CalmFault> FindFaultInCalm(const CalmSurroundings& surroundings) {
  return CalmCheck(surroundings).Find();
}

PathsInForce PathsOf(const controller::TrafficController& controller) {
  PathsInForce in_force;
  for (const QueuePairOnFabric& pair : controller.QueuePairs())
    in_force.paths[{pair.job, pair.connection}] = pair.links;
  for (const controller::JobOnFabric& job : controller.Jobs()) in_force.levels[job.name] = job.level;
  return in_force;
}

std::optional<CalmFault> FindOtherPath(const PathsInForce& before, const PathsInForce& after) {
  for (const auto& [key, links] : before.paths) {
    const auto now = after.paths.find(key);
    if (now != after.paths.end() && now->second == links) continue;
    return CalmFault{"a restarted controller has the same paths",
                     fmt::format("{} connection {:x} {}", key.first, key.second,
                                 now == after.paths.end() ? "has none" : "has another one")};
  }
  // A job that had none may have been started again meanwhile: what waited a minute for a second sign is acted upon.
  std::set<std::string> jobs;
  for (const auto& [key, links] : before.paths) jobs.insert(key.first);
  for (const auto& [key, links] : after.paths) {
    if (!jobs.contains(key.first) || before.paths.contains(key)) continue;
    return CalmFault{"a restarted controller has the same paths",
                     fmt::format("{} connection {:x} had none", key.first, key.second)};
  }
  return std::nullopt;
}

std::optional<CalmFault> FindOtherLevel(const PathsInForce& before, const PathsInForce& after) {
  for (const auto& [job, level] : before.levels) {
    const auto now = after.levels.find(job);
    if (now != after.levels.end() && now->second == level) continue;
    return CalmFault{"a restarted controller has the same levels",
                     fmt::format("{} had level {}, now {}", job, level,
                                 now == after.levels.end() ? "none" : std::to_string(now->second))};
  }
  return std::nullopt;
}

}  // namespace fairlead::sim::chaos
