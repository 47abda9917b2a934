#include "lab/trainer/chunk.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "base/descriptor.h"
#include "base/random.h"

namespace fairlead::lab {
namespace {

// Two ends of a pipe that do not block.
struct SocketPair {
  SocketPair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    near = Descriptor(ends[0]);
    far = Descriptor(ends[1]);
  }
  Descriptor near;
  Descriptor far;
};

TEST(ChunkBytes, SixteenForEachConnectionWithinLimits) {
  EXPECT_EQ(ChunkBytes(1 << 20, 8), 8192u);  // 2^20 / (16 x 8)
  EXPECT_EQ(ChunkBytes(1, 8), 4096u);
  EXPECT_EQ(ChunkBytes(uint64_t{1} << 40, 8), 8192u);  // 2 x 8 x 8 KiB = 128 KiB
  EXPECT_EQ(ChunkBytes(uint64_t{1} << 40, 2), 32768u);
  EXPECT_EQ(ChunkBytes(uint64_t{1} << 40, 64), 4096u);
}

// Whatever the sender cuts its chunks into and the receiver reads, each phase gets its bytes, and no others.
TEST(Chunks, EveryPhaseGetsItsBytes) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    SocketPair pipe;
    ChunkSender sender;
    ChunkReceiver receiver;
    const std::string content(1 + random.Below(9000), 'x');
    std::string scratch(1 + random.Below(9000), 'y');
    uint64_t to_send[3];
    for (uint64_t& bytes : to_send) bytes = 1 + random.Below(300'000);
    uint64_t to_receive[3] = {to_send[0], to_send[1], to_send[2]};
    uint64_t sending = 0;  // phase
    uint64_t receiving = 0;
    for (int i = 0; receiving < 3; ++i) {
      ASSERT_LT(i, 1'000'000) << "seed " << seed;
      if (random.Below(2) == 0 && sending < 3) {
        if (!sender.is_open()) {
          const auto bytes = static_cast<uint32_t>(std::min(to_send[sending], 1 + random.Below(20'000)));
          const auto begun = sender.Begin(pipe.near.get(), sending, bytes);
          ASSERT_TRUE(begun.ok());
          if (!*begun) continue;
          to_send[sending] -= bytes;
        }
        ASSERT_TRUE(sender.Send(pipe.near.get(), content).ok());
        if (!sender.is_open() && to_send[sending] == 0) ++sending;
      } else {
        const auto received = receiver.Receive(pipe.far.get(), receiving, to_receive[receiving], &scratch);
        ASSERT_TRUE(received.ok()) << received.status().message();
        to_receive[receiving] -= *received;
        if (to_receive[receiving] == 0) ++receiving;
      }
    }
    EXPECT_EQ(sending, 3u);
  }
}

TEST(Chunks, WhatIsEarlyWaitsForItsPhase) {
  SocketPair pipe;
  ChunkSender sender;
  ChunkReceiver receiver;
  std::string scratch(100, 'y');
  ASSERT_TRUE(*sender.Begin(pipe.near.get(), 8, 10));
  ASSERT_EQ(*sender.Send(pipe.near.get(), "0123456789"), 10u);
  EXPECT_EQ(*receiver.Receive(pipe.far.get(), 7, 50, &scratch), 0u);
  EXPECT_TRUE(receiver.is_early(7));
  EXPECT_FALSE(receiver.is_early(8));
  EXPECT_EQ(*receiver.Receive(pipe.far.get(), 8, 10, &scratch), 10u);
  EXPECT_FALSE(receiver.is_early(8));
}

TEST(Chunks, AFullConnectionTakesNone) {
  SocketPair pipe;
  const std::string filling(65'536, 'x');
  while (send(pipe.near.get(), filling.data(), filling.size(), MSG_NOSIGNAL) > 0) {
  }
  ChunkSender sender;
  const auto begun = sender.Begin(pipe.near.get(), 0, 10);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(*begun);
  EXPECT_FALSE(sender.is_open());
}

// What a receiver in phase 5 that expects 50 bytes says of a header and 10 bytes.
std::string Refusal(uint64_t phase, uint32_t bytes) {
  SocketPair pipe;
  ChunkSender sender;
  ChunkReceiver receiver;
  std::string scratch(100, 'y');
  EXPECT_TRUE(*sender.Begin(pipe.near.get(), phase, bytes));
  EXPECT_TRUE(sender.Send(pipe.near.get(), "0123456789").ok());
  const auto received = receiver.Receive(pipe.far.get(), 5, 50, &scratch);
  return received.ok() ? "accepted" : received.status().message();
}

TEST(Chunks, UnexpectedOnesAreRefused) {
  EXPECT_EQ(Refusal(5, 50), "accepted");
  EXPECT_EQ(Refusal(5, 51), "it sends more bytes than this worker's plan has");
  EXPECT_EQ(Refusal(4, 10), "it sends bytes of a phase that is over");
  // A peer whose plan shares nothing sends bytes without headers.
  SocketPair pipe;
  ChunkReceiver receiver;
  std::string scratch(100, 'y');
  ASSERT_EQ(send(pipe.near.get(), scratch.data(), scratch.size(), 0), 100);
  EXPECT_EQ(receiver.Receive(pipe.far.get(), 5, 50, &scratch).status().message(), "it sends no chunks of shared bytes");
}

TEST(Chunks, AnEndBetweenChunksIsNoFault) {
  SocketPair pipe;
  ChunkReceiver receiver;
  std::string scratch(100, 'y');
  pipe.near = Descriptor();
  EXPECT_EQ(*receiver.Receive(pipe.far.get(), 5, 50, &scratch), 0u);
  EXPECT_TRUE(receiver.has_ended());
}

TEST(Chunks, AnEndInAChunkIsAFault) {
  SocketPair pipe;
  ChunkSender sender;
  ChunkReceiver receiver;
  std::string scratch(100, 'y');
  ASSERT_TRUE(*sender.Begin(pipe.near.get(), 5, 20));
  ASSERT_EQ(*sender.Send(pipe.near.get(), "0123456789"), 10u);
  pipe.near = Descriptor();
  EXPECT_EQ(*receiver.Receive(pipe.far.get(), 5, 50, &scratch), 10u);
  EXPECT_EQ(receiver.Receive(pipe.far.get(), 5, 40, &scratch).status().message(), "it has closed the connection");
  EXPECT_FALSE(receiver.has_ended());
}

}  // namespace
}  // namespace fairlead::lab
