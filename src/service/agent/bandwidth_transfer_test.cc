#include "service/agent/bandwidth_transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/socket_address.h"

namespace fairlead::service {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const IpAddress kLoopback = IpAddress::FromIpv4(0x7f000001);

TransferOptions Options() {
  TransferOptions options;
  options.local = kLoopback;
  options.peer = kLoopback;
  options.secret = 0x0123456789abcdef;
  options.num_streams = 3;
  options.length = SimDuration(500'000'000);
  return options;
}

class BandwidthTransferTest : public testing::Test {
 protected:
  // Both sides; the sender's on a thread of its own.
  void Transfer(const TransferOptions& receiver, TransferOptions sender) {
    auto opened = TransferReceiver::Open(receiver);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    sender.port = opened->port();
    std::thread thread([&] { sent_ = SendTransfer(sender, stop_); });
    received_ = opened->Receive(stop_);
    thread.join();
  }

  std::atomic<bool> stop_ = false;
  Result<double> received_ = Unavailable("");
  Result<SentTransfer> sent_ = Unavailable("");
};

TEST_F(BandwidthTransferTest, TheLimitOfTheRateIsMeasured) {
  TransferOptions options = Options();
  options.rate_max = 20e6;
  Transfer(options, options);
  ASSERT_TRUE(received_.ok()) << received_.status().message();
  EXPECT_NEAR(*received_, 20e6, 4e6);
  ASSERT_TRUE(sent_.ok()) << sent_.status().message();
  EXPECT_LT(sent_->lost_share, 0.5);
  EXPECT_GT(sent_->rtt, Seconds());
}

TEST_F(BandwidthTransferTest, WithoutALimitItIsAsFastAsItCan) {
  Transfer(Options(), Options());
  ASSERT_TRUE(received_.ok()) << received_.status().message();
  EXPECT_GT(*received_, 50e6);
}

TEST_F(BandwidthTransferTest, WhoDoesNotKnowTheSecretIsNotCounted) {
  TransferOptions sender = Options();
  sender.secret = 5;
  Transfer(Options(), sender);
  EXPECT_FALSE(received_.ok());
  EXPECT_THAT(received_.status().message(), HasSubstr("no connection came from 127.0.0.1"));
}

TEST_F(BandwidthTransferTest, WhoSaysNothingKeepsNobodyWaiting) {
  auto opened = TransferReceiver::Open(Options());
  ASSERT_TRUE(opened.ok());
  const SocketAddress address(kLoopback, opened->port());
  std::vector<Descriptor> silent;
  for (int i = 0; i < 3; ++i) {
    silent.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(silent.back().get(), address.get(), address.length()), 0);
  }
  TransferOptions sender = Options();
  sender.port = opened->port();
  sender.rate_max = 20e6;
  std::thread thread([&] { sent_ = SendTransfer(sender, stop_); });
  received_ = opened->Receive(stop_);
  thread.join();
  ASSERT_TRUE(received_.ok()) << received_.status().message();
  EXPECT_NEAR(*received_, 20e6, 5e6);
}

TEST_F(BandwidthTransferTest, ConnectionsFromElsewhereAreClosed) {
  TransferOptions receiver = Options();
  receiver.peer = IpAddress::FromIpv4(0x7f000002);
  Transfer(receiver, Options());
  EXPECT_FALSE(received_.ok());
}

TEST_F(BandwidthTransferTest, NobodyListens) {
  TransferOptions sender = Options();
  {
    const auto opened = TransferReceiver::Open(Options());
    ASSERT_TRUE(opened.ok());
    sender.port = opened->port();
  }
  sent_ = SendTransfer(sender, stop_);
  ASSERT_FALSE(sent_.ok());
  EXPECT_THAT(sent_.status().message(), HasSubstr("can't connect to 127.0.0.1 port"));
  TransferOptions elsewhere = Options();
  elsewhere.local = IpAddress::FromIpv4(0xc0000201);  // 192.0.2.1, of documents
  EXPECT_THAT(TransferReceiver::Open(elsewhere).status().message(), HasSubstr("can't listen on 192.0.2.1"));
  elsewhere.port = 1;
  EXPECT_THAT(SendTransfer(elsewhere, stop_).status().message(), HasSubstr("can't use 192.0.2.1"));
}

TEST_F(BandwidthTransferTest, BothEndSoonWhenStopped) {
  TransferOptions options = Options();
  options.length = SimDuration(60'000'000'000);
  const Clock::time_point began = Clock::now();
  std::thread stopper([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop_ = true;
  });
  Transfer(options, options);
  stopper.join();
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(20));
  EXPECT_FALSE(received_.ok());
}

}  // namespace
}  // namespace fairlead::service
