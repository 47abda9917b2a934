#include "service/steering/hook_message.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/printable_text.h"
#include "service/steering/action_json.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {

namespace {

using controller::SteeringAction;

constexpr int kExitNever = 2;  // of a hook: do not try again
constexpr size_t kMaxMessage = 200;
// Deeper nesting than any answer needs would only cost stack.
constexpr size_t kMaxAnswer = size_t{8} * 1024;

std::string Shorten(std::string_view text) {
  std::string clean = report::CleanText(text);
  if (clean.size() <= kMaxMessage) return clean;
  size_t end = kMaxMessage;
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return clean.substr(0, end) + "..";
}

}  // namespace

controller::SteeringNames NamesFrom(std::span<const std::string> host_names) {
  return {.host = [host_names](HostId host) {
    return host.index() < host_names.size() ? host_names[host.index()] : std::string();
  }};
}

std::string HookInput(const SteeringAction& action, const controller::SteeringNames& names) {
  report::Json json = {{"fairlead_action", 1}};
  json.update(ToJson(action));
  AddNames(action, names, &json);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

HookAnswer ParseHookOutput(std::string_view output) {
  const std::string_view line = LastLine(output);
  HookAnswer answer;
  answer.message = Shorten(line);
  if (line.empty() || line.find_first_not_of(" \t") == std::string_view::npos || line.size() > kMaxAnswer)
    return answer;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return answer;
  const auto message = json.find("message");
  if (message != json.end() && message->is_string()) answer.message = Shorten(message->get<std::string>());
  const auto healthy = json.find("healthy");
  if (healthy != json.end() && healthy->is_boolean()) answer.is_healthy = healthy->get<bool>();
  return answer;
}

HookOutcome JudgeHook(const SteeringAction& action, const Result<ExecHookOutcome>& outcome) {
  HookOutcome judged;
  judged.done.action = action.number;
  judged.done.attempt = action.attempt;
  if (!outcome.ok()) {
    judged.done.succeeded = false;
    judged.done.message = outcome.status().message();
    return judged;
  }
  const HookAnswer answer = ParseHookOutput(outcome->output);
  judged.done.succeeded = outcome->ok();
  judged.done.message = answer.message;
  if (!outcome->ok()) {
    const std::string how =
        outcome->timed_out ? "ran past its deadline" : fmt::format("exit code {}", outcome->exit_code);
    judged.done.is_final = !outcome->timed_out && outcome->exit_code == kExitNever;
    judged.done.message = "hook: " + how + (answer.message.empty() ? "" : ": " + answer.message);
    return judged;
  }
  if (const auto* test = std::get_if<controller::TestHost>(&action.step)) {
    judged.tested = controller::HostTested{test->host, answer.is_healthy.value_or(false)};
  }
  return judged;
}

}  // namespace fairlead::service
