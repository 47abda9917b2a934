// The process that a lab lives in: as long as it lives so do the lab's namespaces, and nothing else holds them.
//
// The keeper is process 1 of its own process namespace and holds the lab's network namespaces as open files: one for
// each node, and one for the management network, which stays empty unless the lab gets a Slurm (slurm_files.h). They
// have no name in /run/netns and no mount, so nothing can be left behind: when the keeper ends, by whatever signal, the
// kernel ends every process that was started in the lab and takes all namespaces, interfaces and queues down.
//
//     fairlead lab up --fork--> (setsid; user namespace where needed) --fork--> keeper
//          |  <------------------- "ok", numbers of its open files -------------- |
//          |  (interfaces, addresses, routes, queues)                             |
//          |  -------------------------------- "commit" ------------------------> |  from here on it outlives `up`
//
// Until the commit the keeper ends when `up` does, so Ctrl-C, an error or kill -9 leave nothing.
//
// Rights  with CAP_SYS_ADMIN and CAP_NET_ADMIN no user namespace is made; without them the keeper makes one, in which
//         its user is root, where the kernel allows that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "lab/lab_plan.h"
#include "lab/link_setup.h"

namespace fairlead::lab {

// A keeper as other processes find it again.
struct KeeperId {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // of /proc/PID/stat: numbers of processes are used again
  std::string boot_id;
  bool has_user_namespace = false;
  // [node] open file of its network namespace, in the keeper; behind them that of the management network.
  std::vector<int> namespaces;

  friend bool operator==(const KeeperId&, const KeeperId&) = default;
};

// What /proc says of a keeper; nothing is ended, overwritten or declared gone on kUnknown.
enum class KeeperState : uint8_t {
  kAlive,
  kGone,     // no such process, another one of its number, or the machine was rebooted
  kUnknown,  // /proc can't be read: no descriptor left, or no right
};
KeeperState StateOf(const KeeperId& keeper);
// Not known to be gone.
inline bool IsAlive(const KeeperId& keeper) { return StateOf(keeper) != KeeperState::kGone; }
// Ends it and waits until it is gone; fine when it is gone already.
// Errors: kFailedPrecondition: it belongs to another user; kUnavailable: whether it lives is not known: nothing was
// done.
Status EndKeeper(const KeeperId& keeper);

// "/proc/4711/fd/9": the file of a node's network namespace.
std::string NetworkNamespacePath(const KeeperId& keeper, LabNodeId node);

// Names of settings that the kernel lacks, each once.
using MissingSettings = std::vector<std::string>;

// What this machine has for a lab.
struct NamespaceTrial {
  bool has_user_namespace = false;   // one was needed
  MissingSettings missing_settings;  // that labs can do without
};

// Makes namespaces with the settings of a host and of a switch, as a keeper does, and releases them. Errors: those of
// NewKeeper::Start().
Result<NamespaceTrial> TryNamespaces();

// A keeper that ends with this object unless asked to stay.
class NewKeeper {
 public:
  // Makes the namespaces of a plan, with their settings. Blocks until they are there.
  // Errors: kFailedPrecondition: no right to make namespaces, or a kernel without a setting that labs need; the message
  // says what to do.
  static Result<NewKeeper> Start(const LabPlan& plan);
  ~NewKeeper();
  NewKeeper(NewKeeper&&) noexcept = default;
  NewKeeper& operator=(NewKeeper&&) = delete;

  const KeeperId& id() const { return id_; }
  const MissingSettings& missing_settings() const { return missing_settings_; }
  // From here on it lives until EndKeeper().
  Status Commit();

 private:
  NewKeeper() = default;
  Status ReadAnswer(std::string_view answer);

  Descriptor channel_;
  KeeperId id_;
  MissingSettings missing_settings_;
};

}  // namespace fairlead::lab
