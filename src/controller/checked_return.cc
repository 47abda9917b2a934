#include "controller/checked_return.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>
#include <variant>

namespace fairlead::controller {

using Verdict = CheckedHostView::Verdict;

namespace {

constexpr uint32_t kPassesMax = 10;
constexpr SimDuration kPauseMax(7 * 86'400 * SimDuration(1'000'000'000).ns());

Status ExpectWithin(std::string_view name, SimDuration value, SimDuration least, SimDuration most) {
  if (value >= least && value <= most) return OkStatus();
  return InvalidArgument(fmt::format("{}: expected {} to {} s, found {} s", name, least.seconds().value(),
                                     most.seconds().value(), value.seconds().value()));
}

}  // namespace

Status CheckedReturnOptions::Validate() const {
  if (passes < 1 || passes > kPassesMax) {
    return InvalidArgument(fmt::format("passes: expected 1 to {}, found {}", kPassesMax, passes));
  }
  FL_RETURN_IF_ERROR(ExpectWithin("pause", pause, SimDuration(), kPauseMax));
  FL_RETURN_IF_ERROR(ExpectWithin("burn_in", burn_in, SimDuration(), kTestLengthMax));
  FL_RETURN_IF_ERROR(ExpectWithin("retry", retry, SimDuration(1), kPauseMax));
  return ExpectWithin("patience", patience, SimDuration(1), kPauseMax);
}

SimDuration CheckedReturnOptions::LongestTest() const {
  return SimDuration((passes * patience.ns()) + ((passes - 1) * pause.ns()));
}

CheckedReturn::CheckedReturn(const CheckedReturnOptions& options, HostCheckSource checks,
                             std::unique_ptr<ActionBackend> backend)
    : options_(options), checks_(std::move(checks)), backend_(std::move(backend)) {}

void CheckedReturn::Begin(SimTime now, const SteeringAction& action) {
  const auto* step = std::get_if<TestHost>(&action.step);
  if (step == nullptr) return backend_->Begin(now, action);
  // Another attempt at a test that goes on: its checks count.
  const auto [test, is_new] = tests_.try_emplace(action.number);
  test->second.attempt = action.attempt;
  if (!is_new) return;
  test->second.host = step->host;
  test->second.next = now;
  test->second.verdict_until = now + options_.patience;
}

std::vector<SteeringEvent> CheckedReturn::TakeOutcomes(SimTime now) {
  std::vector<SteeringEvent> outcomes = backend_->TakeOutcomes(now);
  for (auto test = tests_.begin(); test != tests_.end();) {
    test = Advance(now, test->first, &test->second, &outcomes) ? tests_.erase(test) : std::next(test);
  }
  return outcomes;
}

bool CheckedReturn::Advance(SimTime now, uint64_t action, Test* test, std::vector<SteeringEvent>* outcomes) {
  if (test->check.has_value()) {
    const std::optional<CheckedHostView> view = checks_.find(*test->check, test->host);
    if (view.has_value() && view->verdict != Verdict::kWaiting) return Judge(now, action, *view, test, outcomes);
    // It is on its way for a while.
    if (!view.has_value() && now >= test->next) TryAgain(now, "the check was lost", test);
  }
  if (now >= test->verdict_until) {
    outcomes->emplace_back(
        StepDone{.action = action,
                 .attempt = test->attempt,
                 .succeeded = false,
                 .message = fmt::format("no verdict in {:.0f} s{}{}", options_.patience.seconds().value(),
                                        test->obstacle.empty() ? "" : ": ", test->obstacle)});
    return true;
  }
  if (test->check.has_value() || now < test->next) return false;
  const Result<uint64_t> check = checks_.begin(test->host, options_.burn_in);
  if (check.ok()) {
    test->check = *check;
    test->next = now + options_.retry;
  } else {
    TryAgain(now, check.status().message(), test);
  }
  return false;
}

bool CheckedReturn::Judge(SimTime now, uint64_t action, const CheckedHostView& view, Test* test,
                          std::vector<SteeringEvent>* outcomes) const {
  const std::string reasons = fmt::format("{}", fmt::join(view.reasons, "; "));
  if (view.verdict == Verdict::kUndecided) {
    TryAgain(now, reasons.empty() ? "the check was undecided" : reasons, test);
    return false;
  }
  const bool is_passed = view.verdict == Verdict::kPassed;
  if (is_passed && ++test->num_passed < options_.passes) {
    test->check.reset();
    test->obstacle.clear();
    test->next = now + options_.pause;
    test->verdict_until = test->next + options_.patience;
    return false;
  }
  outcomes->emplace_back(StepDone{.action = action,
                                  .attempt = test->attempt,
                                  .message = is_passed ? fmt::format("passed {} {} in a row", test->num_passed,
                                                                     test->num_passed == 1 ? "check" : "checks")
                                                       : fmt::format("failed check {}: {}", *test->check, reasons)});
  outcomes->emplace_back(HostTested{test->host, is_passed});
  return true;
}

void CheckedReturn::TryAgain(SimTime now, std::string obstacle, Test* test) const {
  test->check.reset();
  test->obstacle = std::move(obstacle);
  test->next = now + options_.retry;
}

}  // namespace fairlead::controller
