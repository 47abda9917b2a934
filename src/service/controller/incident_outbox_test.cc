#include "service/controller/incident_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/locked_store.h"
#include "store/memory_store.h"

namespace fairlead::service {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kOutboxPatience{20};

// Answers as it was told to; "taken" when nothing is left to be told.
class FakeCollector {
 public:
  void Answer(std::deque<OtlpAnswer> answers) {
    const std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
  }
  // Every request hangs until it is broken off.
  void Hang() {
    const std::lock_guard lock(mutex_);
    hangs_ = true;
  }

  OtlpAnswer Post(const std::string& body) {
    std::unique_lock lock(mutex_);
    bodies_.push_back(body);
    changed_.notify_all();
    if (hangs_) {
      changed_.wait(lock, [this] { return is_stopped_; });
      return {.outcome = OtlpOutcome::kLater, .text = "broken off"};
    }
    if (answers_.empty()) return {};
    OtlpAnswer answer = answers_.front();
    answers_.pop_front();
    return answer;
  }
  void Stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  void Note(bool is_warning, const std::string& text) {
    const std::lock_guard lock(mutex_);
    notes_.push_back((is_warning ? "warning: " : "info: ") + text);
    changed_.notify_all();
  }

  // Waits until so many requests, and notes, have come.
  std::vector<std::string> Bodies(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kOutboxPatience, [&] { return bodies_.size() >= count; });
    return bodies_;
  }
  std::vector<std::string> Notes(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kOutboxPatience, [&] { return notes_.size() >= count; });
    return notes_;
  }

  IncidentOutbox::Surroundings surroundings() {
    return {.post = [this](const std::string& body) { return Post(body); },
            .stop = [this] { Stop(); },
            .note = [this](bool is_warning, const std::string& text) { Note(is_warning, text); }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OtlpAnswer> answers_;
  std::vector<std::string> bodies_;
  std::vector<std::string> notes_;
  bool hangs_ = false;
  bool is_stopped_ = false;
};

const OtlpAnswer kAway{.outcome = OtlpOutcome::kLater, .text = "no connection"};

std::vector<std::string> KeysOf(const store::Store& store) {
  std::vector<std::string> keys;
  const auto records = store.List("").value();
  for (const store::Record& record : records) keys.push_back(record.key);
  return keys;
}

// Until what was sent has been forgotten.
bool WaitUntilEmpty(const IncidentOutbox& outbox, const store::Store& store) {
  const auto end = std::chrono::steady_clock::now() + kOutboxPatience;
  while (outbox.counters().waiting > 0 || !KeysOf(store).empty()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

TEST(IncidentOutbox, SendsEachTraceOnceAndForgetsIt) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  const auto outbox = IncidentOutbox::Start({}, collector.surroundings(), &store).value();
  outbox->Send("a", "finding 1", "first");
  outbox->Send("b", "finding 2", "second");
  EXPECT_THAT(collector.Bodies(2), ElementsAre("first", "second"));
  EXPECT_TRUE(WaitUntilEmpty(*outbox, store));
  EXPECT_EQ(outbox->counters().sent, 2u);
  EXPECT_EQ(outbox->counters().failures, 0u);
  EXPECT_EQ(collector.Bodies(2).size(), 2u);
}

TEST(IncidentOutbox, TriesAgainUntilTheCollectorIsThere) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Answer({kAway, kAway, kAway});
  const auto outbox = IncidentOutbox::Start({.delay_min = milliseconds(1), .delay_max = milliseconds(4)},
                                            collector.surroundings(), &store)
                          .value();
  outbox->Send("a", "finding 1", "first");
  EXPECT_THAT(collector.Bodies(4), ElementsAre("first", "first", "first", "first"));
  EXPECT_TRUE(WaitUntilEmpty(*outbox, store));
  EXPECT_EQ(outbox->counters().failures, 3u);
  EXPECT_EQ(outbox->counters().sent, 1u);
  // One event for all failures.
  EXPECT_THAT(collector.Notes(2), ElementsAre("warning: the collector takes no traces: no connection; they wait",
                                              "info: the collector takes traces again"));
}

TEST(IncidentOutbox, WaitsAsLongAsTheCollectorAsksButNotForever) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Answer({{.outcome = OtlpOutcome::kLater, .text = "busy", .retry_after_s = 1e300}});
  const auto begin = std::chrono::steady_clock::now();
  const auto outbox =
      IncidentOutbox::Start(
          {.delay_min = milliseconds(1), .delay_max = milliseconds(2), .asked_delay_max = milliseconds(60)},
          collector.surroundings(), &store)
          .value();
  outbox->Send("a", "finding 1", "first");
  EXPECT_EQ(collector.Bodies(2).size(), 2u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(60));
}

TEST(IncidentOutbox, GivesUpWhatIsRefused) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Answer({{.outcome = OtlpOutcome::kRefused, .text = "answered 400: no"}});
  const auto outbox = IncidentOutbox::Start({}, collector.surroundings(), &store).value();
  outbox->Send("a", "finding 1", "first");
  outbox->Send("b", "finding 2", "second");
  EXPECT_THAT(collector.Bodies(2), ElementsAre("first", "second"));
  EXPECT_TRUE(WaitUntilEmpty(*outbox, store));
  EXPECT_THAT(collector.Notes(1), ElementsAre("warning: the trace of finding 1 is given up: answered 400: no"));
  EXPECT_EQ(outbox->counters().given_up, 1u);
  EXPECT_EQ(outbox->counters().sent, 1u);
}

TEST(IncidentOutbox, KeepsTheNewestWhereTooManyWait) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Answer({kAway});
  const auto outbox =
      IncidentOutbox::Start(
          {.delay_min = std::chrono::seconds(1000), .delay_max = std::chrono::seconds(1000), .num_waiting_max = 2},
          collector.surroundings(), &store)
          .value();
  outbox->Send("a", "finding 1", "first");
  collector.Bodies(1);
  collector.Notes(1);
  for (const char* trace : {"b", "c"}) outbox->Send(trace, std::string("finding ") + trace, trace);
  EXPECT_THAT(collector.Notes(2)[1], HasSubstr("the trace of finding 1 is given up: 2 wait already"));
  EXPECT_EQ(outbox->counters().waiting, 2u);
  EXPECT_EQ(outbox->counters().given_up, 1u);
}

TEST(IncidentOutbox, GivesUpWhatHasWaitedForTooLong) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Answer(std::deque<OtlpAnswer>(100'000, kAway));
  const auto outbox =
      IncidentOutbox::Start({.delay_min = milliseconds(1), .delay_max = milliseconds(1), .waits_max = milliseconds(20)},
                            collector.surroundings(), &store)
          .value();
  outbox->Send("a", "finding 1", "first");
  EXPECT_THAT(collector.Notes(2)[1],
              HasSubstr("given up: the collector has not taken it for too long (no connection)"));
  EXPECT_TRUE(WaitUntilEmpty(*outbox, store));
}

TEST(IncidentOutbox, TheNextProcessSendsWhatThisOneCouldNot) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  {
    FakeCollector collector;
    collector.Answer({kAway});
    const auto outbox =
        IncidentOutbox::Start({.delay_min = std::chrono::seconds(1000), .delay_max = std::chrono::seconds(1000)},
                              collector.surroundings(), &store)
            .value();
    outbox->Send("a", "finding 1\nof it", "over");
    outbox->Keep("b", "finding 2", "goes on");
    outbox->Keep("b", "finding 2", "goes on, newer");
    collector.Bodies(1);
  }
  EXPECT_THAT(KeysOf(store), ElementsAre("otlp/a", "otlp/b"));
  FakeCollector collector;
  collector.Answer({{.outcome = OtlpOutcome::kRefused, .text = "no"}});
  {
    const auto outbox = IncidentOutbox::Start({}, collector.surroundings(), &store).value();
    EXPECT_THAT(collector.Bodies(2), ElementsAre("over", "goes on, newer"));
    EXPECT_THAT(collector.Notes(1), ElementsAre(HasSubstr("finding 1 of it")));
    EXPECT_TRUE(WaitUntilEmpty(*outbox, store));
  }
  const auto third = IncidentOutbox::Start({}, collector.surroundings(), &store).value();
  EXPECT_EQ(third->counters().waiting, 0u);
}

TEST(IncidentOutbox, NeitherAHangingCollectorNorItsEndHoldsUpTheCaller) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  collector.Hang();
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto outbox = IncidentOutbox::Start({}, collector.surroundings(), &store).value();
    outbox->Send("a", "finding 1", "first");
    collector.Bodies(1);
    for (int i = 0; i < 1000; ++i) outbox->Send(std::to_string(i), "more", "x");
    EXPECT_EQ(outbox->counters().sent, 0u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kOutboxPatience);
  // As many as may wait are there for the next process.
  EXPECT_EQ(KeysOf(store).size(), 256u);
}

// Takes nothing for a while, as where the disk is full.
class FullStore : public store::MemoryStore {
 public:
  Status Apply(std::span<const store::Change> changes) override {
    if (num_refusals_-- > 0) return Status(StatusCode::kResourceExhausted, "no room");
    return MemoryStore::Apply(changes);
  }

 private:
  int num_refusals_ = 3;
};

TEST(IncidentOutbox, SendsAlsoWhereTheStoreIsFull) {
  store::LockedStore store(std::make_unique<FullStore>());
  FakeCollector collector;
  collector.Answer({kAway, kAway});
  const auto outbox = IncidentOutbox::Start({.delay_min = milliseconds(1), .delay_max = milliseconds(1)},
                                            collector.surroundings(), &store)
                          .value();
  outbox->Keep("b", "finding 2", "goes on");
  outbox->Send("a", "finding 1", "first");
  EXPECT_EQ(collector.Bodies(3).size(), 3u);
  const auto end = std::chrono::steady_clock::now() + kOutboxPatience;
  while (KeysOf(store) != std::vector<std::string>{"otlp/b"} && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_THAT(KeysOf(store), ElementsAre("otlp/b"));
}

TEST(IncidentOutbox, RefusesOptionsThatMakeNoSense) {
  store::LockedStore store(std::make_unique<store::MemoryStore>());
  FakeCollector collector;
  for (const IncidentOutboxOptions& options :
       {IncidentOutboxOptions{.delay_min = milliseconds(0)},
        IncidentOutboxOptions{.delay_min = milliseconds(5), .delay_max = milliseconds(4)},
        IncidentOutboxOptions{.num_waiting_max = 0}}) {
    EXPECT_EQ(IncidentOutbox::Start(options, collector.surroundings(), &store).status().code(),
              StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace fairlead::service
