#include "controller/checked_return.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>

namespace fairlead::controller {
namespace {

using Verdict = CheckedHostView::Verdict;

constexpr SimDuration kOneSecond(1'000'000'000);
constexpr SimDuration Of(int64_t seconds) { return SimDuration(seconds * kOneSecond.ns()); }

// Notes what it was asked for, and says that it is done.
class NotedBackend final : public ActionBackend {
 public:
  explicit NotedBackend(std::vector<std::string>* begun) : begun_(*begun) {}
  std::string_view name() const override { return "noted"; }
  void Begin(SimTime, const SteeringAction& action) override {
    begun_.emplace_back(Name(action.step));
    outcomes_.emplace_back(StepDone{.action = action.number, .attempt = action.attempt});
  }
  std::vector<SteeringEvent> TakeOutcomes(SimTime) override { return std::exchange(outcomes_, {}); }

 private:
  std::vector<std::string>& begun_;
  std::vector<SteeringEvent> outcomes_;
};

// Each check takes 9 s, and ends as the list says; the last entry counts for all that follow.
class CheckedReturnTest : public testing::Test {
 protected:
  struct Told {
    SimTime at;
    std::optional<bool> is_healthy;
    std::optional<StepDone> done;
  };

  void Start(CheckedReturnOptions options) {
    ASSERT_TRUE(options.Validate().ok());
    HostCheckSource source;
    source.begin = [this](HostId, SimDuration burn_in) -> Result<uint64_t> {
      burn_in_ = burn_in;
      if (!obstacle_.empty()) return InvalidArgument(obstacle_);
      began_.push_back(now_);
      return began_.size();
    };
    source.find = [this](uint64_t check, HostId host) -> std::optional<CheckedHostView> {
      if (is_lost_) return std::nullopt;
      CheckedHostView view;
      view.host = host;
      if (now_ < began_.at(check - 1) + Of(9)) return view;
      view.verdict = verdicts_[std::min<size_t>(check, verdicts_.size()) - 1];
      if (view.verdict != Verdict::kPassed) view.reasons = {"NIC 0 sends nothing", "Xid 79"};
      return view;
    };
    backend_.emplace(options, std::move(source), std::make_unique<NotedBackend>(&begun_));
  }

  // Calls once a second until then, or until something is told.
  Told RunUntil(SimTime until) {
    while (now_ < until) {
      Told told{.at = now_, .is_healthy = {}, .done = {}};
      for (const SteeringEvent& event : backend_->TakeOutcomes(now_)) {
        if (const auto* tested = std::get_if<HostTested>(&event)) told.is_healthy = tested->is_healthy;
        if (const auto* done = std::get_if<StepDone>(&event)) told.done = *done;
      }
      if (told.done.has_value()) return told;
      now_ = now_ + kOneSecond;
    }
    return {.at = now_, .is_healthy = {}, .done = {}};
  }

  static SteeringAction TestAction(uint32_t attempt = 1) {
    SteeringAction action;
    action.number = 5;
    action.attempt = attempt;
    action.step = TestHost{HostId(3)};
    return action;
  }

  std::vector<std::string> begun_;
  std::deque<Verdict> verdicts_ = {Verdict::kPassed};
  std::string obstacle_;
  bool is_lost_ = false;
  SimDuration burn_in_;
  std::vector<SimTime> began_;
  SimTime now_;
  std::optional<CheckedReturn> backend_;
};

TEST_F(CheckedReturnTest, OtherStepsAreTheBackEnds) {
  Start({});
  SteeringAction action;
  action.number = 4;
  action.step = IsolateHost{HostId(3)};
  backend_->Begin(now_, action);
  EXPECT_EQ(begun_, std::vector<std::string>{"isolate_host"});
  EXPECT_EQ(RunUntil(SimTime() + Of(2)).done->action, 4U);
  EXPECT_EQ(backend_->name(), "noted");
  EXPECT_TRUE(began_.empty());
}

TEST_F(CheckedReturnTest, AHostPassesTwiceWithAPause) {
  Start({.burn_in = Of(30)});
  backend_->Begin(now_, TestAction());
  const Told told = RunUntil(SimTime() + Of(10'000));
  EXPECT_EQ(told.is_healthy, true);
  EXPECT_TRUE(told.done->succeeded);
  EXPECT_EQ(told.done->action, 5U);
  EXPECT_EQ(told.done->message, "passed 2 checks in a row");
  EXPECT_EQ(began_, (std::vector<SimTime>{SimTime(), SimTime() + Of(9 + 3600)}));
  EXPECT_EQ(told.at, SimTime() + Of(9 + 3600 + 9));
  EXPECT_EQ(burn_in_, Of(30));
  EXPECT_TRUE(begun_.empty()) << "the back end tested a host";
}

TEST_F(CheckedReturnTest, OneFailedCheckIsEnough) {
  verdicts_ = {Verdict::kPassed, Verdict::kFailed};
  Start({});
  backend_->Begin(now_, TestAction());
  const Told told = RunUntil(SimTime() + Of(10'000));
  EXPECT_EQ(told.is_healthy, false);
  EXPECT_TRUE(told.done->succeeded) << "the test has ended, whatever it says of the host";
  EXPECT_EQ(told.done->message, "failed check 2: NIC 0 sends nothing; Xid 79");
}

TEST_F(CheckedReturnTest, UndecidedIsNeitherAPassNorAFailure) {
  verdicts_ = {Verdict::kPassed, Verdict::kUndecided, Verdict::kPassed};
  Start({});
  backend_->Begin(now_, TestAction());
  const Told told = RunUntil(SimTime() + Of(10'000));
  EXPECT_EQ(told.is_healthy, true);
  EXPECT_EQ(began_.size(), 3U);
  EXPECT_EQ(began_[2] - began_[1], Of(9 + 60));
}

TEST_F(CheckedReturnTest, WithoutAVerdictTheAttemptFailsAndSaysWhy) {
  obstacle_ = "host h3: job gpt has connections there";
  Start({});
  backend_->Begin(now_, TestAction());
  Told told = RunUntil(SimTime() + Of(10'000));
  EXPECT_EQ(told.at, SimTime() + Of(1800));
  EXPECT_FALSE(told.is_healthy.has_value());
  EXPECT_FALSE(told.done->succeeded);
  EXPECT_FALSE(told.done->is_final);
  EXPECT_EQ(told.done->message, "no verdict in 1800 s: host h3: job gpt has connections there");
  // The next attempt finds the host free.
  obstacle_.clear();
  backend_->Begin(now_, TestAction(2));
  told = RunUntil(SimTime() + Of(20'000));
  EXPECT_EQ(told.is_healthy, true);
  EXPECT_EQ(told.done->attempt, 2U);
}

TEST_F(CheckedReturnTest, AnAttemptDuringATestGoesOnWithIt) {
  Start({});
  backend_->Begin(now_, TestAction());
  ASSERT_FALSE(RunUntil(SimTime() + Of(1000)).done.has_value());
  backend_->Begin(now_, TestAction(2));
  const Told told = RunUntil(SimTime() + Of(10'000));
  EXPECT_EQ(told.at, SimTime() + Of(9 + 3600 + 9));
  EXPECT_EQ(told.done->attempt, 2U);
}

TEST_F(CheckedReturnTest, ACheckThatIsLostIsBegunAgain) {
  Start({.passes = 1});
  backend_->Begin(now_, TestAction());
  is_lost_ = true;
  ASSERT_FALSE(RunUntil(SimTime() + Of(125)).done.has_value());
  is_lost_ = false;
  EXPECT_EQ(RunUntil(SimTime() + Of(10'000)).is_healthy, true);
  EXPECT_EQ(began_.size(), 2U);
}

TEST_F(CheckedReturnTest, ACheckIsNotLostWhileItIsOnItsWay) {
  Start({.passes = 1});
  backend_->Begin(now_, TestAction());
  is_lost_ = true;
  ASSERT_FALSE(RunUntil(SimTime() + Of(5)).done.has_value());
  is_lost_ = false;
  EXPECT_EQ(RunUntil(SimTime() + Of(10'000)).is_healthy, true);
  EXPECT_EQ(began_.size(), 1U);
}

TEST_F(CheckedReturnTest, NoTestTakesLongerThanItSays) {
  for (const Verdict verdict : {Verdict::kPassed, Verdict::kFailed, Verdict::kUndecided}) {
    for (const uint32_t passes : {1U, 3U}) {
      verdicts_ = {verdict};
      now_ = SimTime();
      began_.clear();
      const CheckedReturnOptions options{.passes = passes};
      Start(options);
      backend_->Begin(now_, TestAction());
      const Told told = RunUntil(SimTime() + Of(100'000));
      ASSERT_TRUE(told.done.has_value());
      EXPECT_LE(told.at, SimTime() + options.LongestTest());
    }
  }
}

TEST(CheckedReturnOptionsTest, SaysWhatIsWrong) {
  EXPECT_EQ(CheckedReturnOptions{.passes = 0}.Validate().message(), "passes: expected 1 to 10, found 0");
  EXPECT_EQ(CheckedReturnOptions{.pause = Of(-1)}.Validate().message(), "pause: expected 0 to 604800 s, found -1 s");
  EXPECT_EQ(CheckedReturnOptions{.burn_in = Of(601)}.Validate().message(), "burn_in: expected 0 to 600 s, found 601 s");
}

}  // namespace
}  // namespace fairlead::controller
