#include "execution/connection_account.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::execution {
namespace {

using model::ConnectionKey;
using model::ConnectionRecord;
using model::Direction;
using model::RankId;
using model::TransferPhase;

constexpr Instant kSecond = 1'000'000'000;
constexpr ReportWindows kWindows{.first_end = kSecond, .period = kSecond};

ConnectionKey KeyOf(Direction direction) {
  ConnectionKey key;
  key.direction = direction;
  key.peer = RankId(1);
  return key;
}

// A message from 0.9 s to 3.2 s is seen under way at 1, 2 and 3 s, in the phases that its instants say.
TEST(ConnectionAccount, ShowsThePhasesOfAMessageThatStraddlesReports) {
  ConnectionAccount account(KeyOf(Direction::kSend), kWindows);
  account.Add({.posted = kSecond * 9 / 10,
               .first = kSecond * 3 / 2,
               .second = kSecond * 5 / 2,
               .done = kSecond * 16 / 5,
               .in_flight = 3},
              100);
  const std::array<TransferPhase, 3> phases = {TransferPhase::kSendWaitsForGpu, TransferPhase::kSendWaitsForPeer,
                                               TransferPhase::kSendOnWire};
  const std::array<Instant, 3> since = {kSecond * 9 / 10, kSecond * 3 / 2, kSecond * 5 / 2};
  for (uint64_t window = 0; window < 3; ++window) {
    const auto record = account.Take(window);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->phase, phases[window]);
    EXPECT_EQ(record->phase_since.ns(), since[window]);
    EXPECT_EQ(record->in_flight, 3u);
    EXPECT_EQ(record->messages, 0u);
  }
  const auto done = account.Take(3);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->phase, TransferPhase::kIdle);
  EXPECT_EQ(done->messages, 1u);
  EXPECT_EQ(done->bytes, 100u);
  EXPECT_EQ(done->wire_time.ns(), kSecond * 7 / 10);
  EXPECT_EQ(done->wait_for_gpu.ns(), kSecond * 6 / 10);
  EXPECT_EQ(done->wait_for_peer.ns(), kSecond);
  EXPECT_FALSE(account.Take(4).has_value());
}

TEST(ConnectionAccount, ShowsAMessageThatIsNeverDoneForEver) {
  ConnectionAccount account(KeyOf(Direction::kReceive), kWindows);
  account.Add({.posted = 10, .first = 20, .second = 20, .done = 30}, 5);
  account.Add({.posted = kSecond / 2, .first = kNever, .second = kNever, .done = kNever}, 5);
  account.Add({.posted = kSecond / 2, .first = kNever, .second = kNever, .done = kNever}, 5);
  for (uint64_t window = 0; window < 20; ++window) {
    const auto record = account.Take(window);
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->phase, TransferPhase::kReceivePosted);
    EXPECT_EQ(record->phase_since.ns(), kSecond / 2);
    EXPECT_EQ(record->last_progress.ns(), 30);
    EXPECT_EQ(record->messages, window == 0 ? 1u : 0u);
  }
}

// Three messages, for which a late receiver posted buffers at once, 1 ms each on the wire, one behind the other: each
// took 1 ms.
TEST(ConnectionAccount, DoesNotCountTheQueueBehindItsOwnMessages) {
  constexpr Instant kMillisecond = 1'000'000;
  ConnectionAccount account(KeyOf(Direction::kSend), kWindows);
  for (Instant k = 1; k <= 3; ++k) account.Add({.done = k * kMillisecond}, 1);
  const auto record = account.Take(0);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->wire_time.ns(), 3 * kMillisecond);
  EXPECT_EQ(record->wire_time_max.ns(), kMillisecond);
  // 1,000 us lies in 2^9 .. 2^10.
  EXPECT_EQ(record->wire_time_bins[9], 3u);
}

// Whatever the windows, all reports together say the same.
TEST(ConnectionAccount, LosesNothingBetweenWindows) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const auto direction = static_cast<Direction>(seed % 2);
    ConnectionAccount cut(KeyOf(direction), {.first_end = 1 + static_cast<Instant>(random.Below(1000)), .period = 777});
    ConnectionAccount whole(KeyOf(direction), {.first_end = kSecond, .period = kSecond});
    Instant time = 0;
    for (int k = 0; k < 200; ++k) {
      MessageInstants message;
      message.posted = time + static_cast<Instant>(random.Below(random.Below(20) == 0 ? 5000 : 50));
      message.first = message.posted + static_cast<Instant>(random.Below(100));
      message.second = message.first + static_cast<Instant>(random.Below(100));
      message.done = message.second + static_cast<Instant>(random.Below(random.Below(20) == 0 ? 5000 : 50));
      time = message.done;
      cut.Add(message, 3);
      whole.Add(message, 3);
    }
    ConnectionRecord sum;
    for (uint64_t window = 0; window < 2000; ++window) {
      const auto record = cut.Take(window);
      if (!record.has_value()) continue;
      sum.messages += record->messages;
      sum.bytes += record->bytes;
      sum.wire_time += record->wire_time;
      sum.wait_for_gpu += record->wait_for_gpu;
      sum.wait_for_peer += record->wait_for_peer;
      sum.last_progress = record->last_progress;
    }
    const auto all = whole.Take(0);
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(sum.messages, 200u) << "seed " << seed;
    EXPECT_EQ(sum.bytes, all->bytes);
    EXPECT_EQ(sum.wire_time, all->wire_time);
    EXPECT_EQ(sum.wait_for_gpu, all->wait_for_gpu);
    EXPECT_EQ(sum.wait_for_peer, all->wait_for_peer);
    EXPECT_EQ(sum.last_progress, all->last_progress);
  }
}

}  // namespace
}  // namespace fairlead::execution
