// Orders at a desk of which the other side is the test: it says when an order is taken and kept.
#include "service/steering/operator_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "controller/sick_host_example.h"

namespace fairlead::service {
namespace {

using controller::IsolationUndone;
using controller::SpareOffered;
using controller::SteeringEvent;
using testing::HasSubstr;

const SimTime kOrderedAt(1'700'000'000'000'000'000);

// Job "gpt" on hosts 0 to 3, of which host 3 is found sick: it is being isolated, and is isolated after the answer.
class OperatorOrdersTest : public testing::Test {
 protected:
  OperatorOrdersTest() {
    kept_.Take(SpareOffered{HostId(4)});
    kept_.Take(controller::JobRunning{JobId(1), {HostId(0), HostId(1), HostId(2), HostId(3)}});
    kept_.Take(controller::FindingReported{controller::SickHost(1, JobId(1), HostId(3), kOrderedAt)});
    const auto begun = kept_.MakeBatch(kOrderedAt).begun;
    EXPECT_EQ(begun.size(), 1u);
    if (!begun.empty()) isolation_ = begun[0].number;
    shown_.Update(kept_, {}, {});
  }
  static controller::KeptSteeringOptions Acting() {
    controller::KeptSteeringOptions options;
    options.steering.mode = controller::SteeringMode::kAct;
    return options;
  }
  void IsIsolated() {
    kept_.Take(controller::StepDone{.action = isolation_});
    kept_.MakeBatch(kOrderedAt);
    shown_.Update(kept_, {}, {});
  }
  // Of another thread: takes orders, and keeps them, until `num` are.
  std::thread Keeper(OperatorOrders* orders, size_t num) {
    return std::thread([this, orders, num] {
      while (taken_.size() < num) {
        std::ranges::move(orders->Take(), std::back_inserter(taken_));
        orders->NoteKept(orders->num_taken());
        std::this_thread::yield();
      }
    });
  }
  OperatorOrderOptions Options(std::chrono::milliseconds patience) {
    return {.patience = patience,
            .audit =
                [this](const report::Json& line) {
                  if (is_log_full_) return Unavailable("the log is full");
                  lines_.push_back(line);
                  return OkStatus();
                },
            .note = [this](SimTime, const controller::Noted& note) { notes_.push_back(note.text); }};
  }

  const std::vector<std::string> hosts_ = {"h0", "h1", "h2", "h3", "h4", "h5"};
  controller::KeptSteering kept_{kOrderedAt,
                                 Acting(),
                                 hosts_,
                                 {.take_outcomes = [](SimTime) { return std::vector<SteeringEvent>(); },
                                  .entry = {},
                                  .job_name = [](JobId) { return std::string("gpt"); }}};
  uint64_t isolation_ = 0;
  ShownSteering shown_{kOrderedAt, controller::SteeringMode::kAct, "world"};
  bool is_log_full_ = false;
  std::vector<report::Json> lines_;
  std::vector<std::string> notes_;
  std::vector<SteeringEvent> taken_;
  OperatorOrders orders_{&shown_, &hosts_, Options(std::chrono::minutes(1))};
};

TEST_F(OperatorOrdersTest, WhatMakesNoSenseIsNoOrder) {
  EXPECT_EQ(orders_.UndoIsolation("h77", "x").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(orders_.UndoIsolation("h3", "x").status().code(), StatusCode::kUnavailable) << "it is being isolated";
  EXPECT_EQ(orders_.OfferSpare("h3", "x").status().code(), StatusCode::kInvalidArgument);
  IsIsolated();
  EXPECT_EQ(orders_.UndoIsolation("h1", "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(orders_.OfferSpare("h3", "x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(orders_.AnnouncePause("bert", 60, "", "x").status().code(), StatusCode::kNotFound);
  for (const double seconds : {-1.0, 367.0 * 86'400, std::nan("")}) {
    EXPECT_THAT(orders_.AnnouncePause("gpt", seconds, "", "x").status().message(), HasSubstr("for_s")) << seconds;
  }
  EXPECT_TRUE(orders_.Take().empty());
  EXPECT_TRUE(lines_.empty());
}

TEST_F(OperatorOrdersTest, AnOrderIsLoggedTakenAndAnswered) {
  IsIsolated();
  std::thread keeper = Keeper(&orders_, 3);
  const auto undone = orders_.UndoIsolation("h3", "anna");
  const auto spare = orders_.OfferSpare("h5", "anna");
  const auto pause = orders_.AnnouncePause("gpt", 60, "new switches", "bert");
  keeper.join();
  ASSERT_TRUE(undone.ok() && spare.ok() && pause.ok());
  EXPECT_EQ((*undone)["host"], "h3");
  EXPECT_EQ((*pause)["until_s"], 1'700'000'060.0);
  EXPECT_EQ(std::get<IsolationUndone>(taken_[0]).host, HostId(3));
  EXPECT_EQ(std::get<SpareOffered>(taken_[1]).host, HostId(5));
  const auto& announced = std::get<controller::PauseAnnounced>(taken_[2]);
  EXPECT_EQ(announced.job, JobId(1));
  EXPECT_EQ(announced.until, kOrderedAt + SimDuration(60'000'000'000));
  EXPECT_EQ(announced.reason, "new switches");
  EXPECT_EQ(lines_.at(0).dump(),
            R"({"at_s":1700000000.0,"kind":"operator","who":"anna","action":"undo isolation","host":"h3"})");
  EXPECT_EQ(notes_.at(1), R"(operator at anna: offer spare {"host":"h5"})");
}

TEST_F(OperatorOrdersTest, WhatCannotBeLoggedIsNotGiven) {
  is_log_full_ = true;
  EXPECT_EQ(orders_.OfferSpare("h5", "x").status().message(), "the log is full");
  EXPECT_TRUE(orders_.Take().empty());
  EXPECT_TRUE(notes_.empty());
}

// Taken is not kept: the answer says which of the two the giver has waited for in vain.
TEST_F(OperatorOrdersTest, PatienceEnds) {
  OperatorOrders orders(&shown_, &hosts_, Options(std::chrono::milliseconds(1)));
  EXPECT_THAT(orders.OfferSpare("h5", "x").status().message(), HasSubstr("the diagnosis does not take orders now"));
  EXPECT_EQ(orders.Take().size(), 1u) << "it is carried out all the same";
  EXPECT_EQ(orders.num_taken(), 1u);
  EXPECT_TRUE(shown_.SetStatus(Unavailable("no disk")).ok());
  EXPECT_EQ(orders.OfferSpare("h5", "x").status().message(),
            "not saved yet, and carried out as soon as it is: no disk");
  EXPECT_EQ(orders.num_taken(), 1u) << "until the next Take()";
}

// One of two orders is kept: only its giver is answered. The other one waits for an hour, which the test would not
// survive, but for the second word.
TEST_F(OperatorOrdersTest, EachGiverWaitsForItsOwnOrder) {
  OperatorOrders orders(&shown_, &hosts_, Options(std::chrono::hours(1)));
  std::atomic<int> num_answered = 0;
  std::vector<std::thread> givers;
  uint64_t num_orders = 0;
  for (int i = 0; i < 2; ++i) {
    givers.emplace_back([&] {
      EXPECT_TRUE(orders.OfferSpare("h5", "x").ok());
      ++num_answered;
    });
    while (orders.num_taken() == num_orders) orders.Take();
    num_orders = orders.num_taken();
  }
  orders.NoteKept(1);
  givers[0].join();
  EXPECT_EQ(num_answered, 1);
  orders.NoteKept(2);
  givers[1].join();
  EXPECT_EQ(num_answered, 2);
}

}  // namespace
}  // namespace fairlead::service
