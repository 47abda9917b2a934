// Runs programs inside the namespaces of a lab.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/keeper.h"

namespace fairlead::lab {

struct NamespaceCommand {
  LabNodeId node;                 // where to run
  std::vector<std::string> args;  // program and arguments; the program is searched in PATH, /usr/sbin and /sbin
  std::string input;
};

struct CommandOutcome {
  int exit_code = 0;   // 128 + number when a signal ended it; 127 when it can't be started
  std::string output;  // standard output
  std::string errors;  // standard error
};

// Runs all of them, as many at once as there are processors, and waits for them.
// Errors: kUnavailable: fork failed. That a program failed is an outcome.
Result<std::vector<CommandOutcome>> RunCommands(const KeeperId& keeper, const std::vector<NamespaceCommand>& commands);

// In a process that is about to run something in a lab: enters the user namespace (where there is one) and the network
// namespace of the node. 0 or errno. The process must have one thread.
int EnterNode(const KeeperId& keeper, LabNodeId node);
// The same for the process namespace: children born from now on end with the lab.
int EnterProcesses(const KeeperId& keeper);

// Starts a program that ends with the lab, if not before; what it prints is appended to the file `log`. Its /proc shows
// the processes of the lab. Args: node: invalid: it runs in the network of this machine.
// Errors: kUnavailable: it can't be started or enter the lab.
Status StartDaemon(const KeeperId& keeper, LabNodeId node, const std::vector<std::string>& args,
                   const std::string& log);

// Enters the nodes of the lab one after the other, in one child process; what `look` returns for each comes back.
// Errors: kUnavailable: the lab can't be entered.
Result<std::vector<std::string>> LookAtNodes(const KeeperId& keeper, size_t num_nodes,
                                             const std::function<std::string()>& look);

// Gives a new process what a separate machine would have: its name, /etc/hosts with the names of the lab, /sys as its
// network namespace sees it. Without the right to it nothing happens: few programs look there. Args: hosts_file:
// absolute.
void SettleIn(const std::string& name, const std::string& hosts_file);

}  // namespace fairlead::lab
