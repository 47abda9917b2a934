#include "service/steering/steering_news.h"

#include <fmt/format.h>

#include <variant>

namespace fairlead::service {

using controller::Noted;

void SteeringNews::Note(const controller::SteeringAction& action) {
  descriptions_[action.number] = controller::Describe(action.step, names_);
}

void SteeringNews::KeepOnly(const controller::ActionAttempts& open) {
  std::erase_if(descriptions_, [&open](const auto& entry) { return open.Find(entry.first) == nullptr; });
}

std::optional<Noted> SteeringNews::TextOf(const controller::AuditEntry& entry) const {
  return std::visit([this](const auto& what) { return TextOf(what); }, entry.what);
}

std::optional<Noted> SteeringNews::TextOf(const controller::SteeringAction& action) const {
  if (std::holds_alternative<controller::ExcuseJob>(action.step)) return std::nullopt;
  const bool is_urgent = std::holds_alternative<controller::AskOperator>(action.step) ||
                         std::holds_alternative<controller::IsolateHost>(action.step);
  const auto description = descriptions_.find(action.number);
  return Noted{is_urgent ? Noted::Severity::kWarning : Noted::Severity::kInfo,
               action.job.valid() ? "job " + names_.Of(action.job) : std::string("steering"),
               (description == descriptions_.end() ? controller::Describe(action.step, names_) : description->second) +
                   ": " + action.reason};
}

std::optional<Noted> SteeringNews::TextOf(const controller::SteeringEvent& event) const {
  if (const auto* done = std::get_if<controller::StepDone>(&event)) {
    const auto description = descriptions_.find(done->action);
    const std::string what =
        description == descriptions_.end() ? fmt::format("action {}", done->action) : description->second;
    const std::string message = done->message.empty() ? "" : ": " + done->message;
    return Noted{done->succeeded ? Noted::Severity::kInfo : Noted::Severity::kWarning, "steering",
                 fmt::format("{} {}{}", what, done->succeeded ? "is done" : "failed", message)};
  }
  if (const auto* tested = std::get_if<controller::HostTested>(&event)) {
    return Noted{tested->is_healthy ? Noted::Severity::kInfo : Noted::Severity::kWarning,
                 "host " + names_.Of(tested->host),
                 tested->is_healthy ? "passed its tests" : "failed its tests, and stays isolated"};
  }
  return std::nullopt;
}

}  // namespace fairlead::service
