// What does Fairlead need from a machine, what is there, and what is to be done about the difference?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/machine.h"

namespace fairlead::cli {

// What a machine is to be used for.
enum class Role : uint8_t {
  kSim,
  kLab,
  kAgent,
  kController,
};
inline constexpr Role kRoles[] = {Role::kSim, Role::kLab, Role::kAgent, Role::kController};
std::string_view NameOf(Role role);

enum class CheckState : uint8_t {
  kGood,
  kAdvice,   // it works without, with less
  kMissing,  // it does not work without
};
std::string_view NameOf(CheckState state);

struct CheckResult {
  std::string check;
  std::vector<Role> needed_for;
  CheckState state = CheckState::kGood;
  std::string found;  // short
  std::string to_do;  // commands, and why; empty: nothing
};

struct DoctorOptions {
  std::vector<Role> roles = {std::begin(kRoles), std::end(kRoles)};
  // No address: no controller is looked for.
  service::ControllerClientOptions controller = {};
  std::string agent_socket = "/run/fairlead/agent.sock";
  // Empty: the usual ports, of which one that is taken is only advice, as the controller itself may have it.
  std::vector<std::string> listen = {};
};

// The results of all checks that one of the roles needs, in order. Thread: one; the machine's rules count.
std::vector<CheckResult> CheckMachine(const Machine& machine, const DoctorOptions& options);

// False: something is missing.
bool IsReady(const std::vector<CheckResult>& results);

}  // namespace fairlead::cli
