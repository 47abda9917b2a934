// Carries actions out with the operator's program, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/action_backend.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {

class HookBackend final : public controller::ActionBackend {
 public:
  // Args: host_names [host]: what the site calls its hosts.
  explicit HookBackend(ExecHookOptions options, std::vector<std::string> host_names = {})
      : options_(std::move(options)), host_names_(std::move(host_names)) {}

  std::string_view name() const override { return "hook"; }
  // Blocks until the program has ended, at most for its deadline and its grace. n actions take n times as long, and
  // their outcomes come with the next TakeOutcomes(): call it where waiting is harmless.
  void Begin(SimTime now, const controller::SteeringAction& action) override;
  std::vector<controller::SteeringEvent> TakeOutcomes(SimTime) override { return std::exchange(outcomes_, {}); }

 private:
  ExecHookOptions options_;
  std::vector<std::string> host_names_;
  std::vector<controller::SteeringEvent> outcomes_;
};

}  // namespace fairlead::service
