// A TCP connection between two network namespaces is moved while it runs. Skipped, with the reason, where namespaces or
// nftables are not to be had.
#include "service/agent/port_rewriter.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>

#include "base/random.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {
namespace {

constexpr uint16_t kSocketPort = 50'000;
constexpr uint16_t kListenPort = 5001;
constexpr int kSkip = 77;

// A version of IP, and what differs with it.
struct Version {
  int family = AF_INET;
  std::string option;                          // of ip
  std::string host, links[2];                  // prefixes of addresses
  std::string host_mask, link_mask, no_check;  // of addresses
  std::string hash_setting;                    // of routes
  size_t protocol_at = 0, port_at = 0;         // in a packet
  std::string return_map;                      // of nftables
};
const Version kIpv4{.family = AF_INET,
                    .option = "-4",
                    .host = "10.8.0.",
                    .links = {"10.7.1.", "10.7.2."},
                    .host_mask = "/32",
                    .link_mask = "/24",
                    .no_check = "",
                    .hash_setting = "/proc/sys/net/ipv4/fib_multipath_hash_policy",
                    .protocol_at = 9,
                    .port_at = 20,
                    .return_map = "return4"};
const Version kIpv6{.family = AF_INET6,
                    .option = "-6",
                    .host = "fd08::",
                    .links = {"fd71::", "fd72::"},
                    .host_mask = "/128",
                    .link_mask = "/64",
                    .no_check = " nodad",
                    .hash_setting = "/proc/sys/net/ipv6/fib_multipath_hash_policy",
                    .protocol_at = 6,
                    .port_at = 40,
                    .return_map = "return6"};

class PortRewriterTest : public testing::TestWithParam<const Version*> {};

// Of the test that runs; child processes inherit it.
const Version* version = &kIpv4;

std::string AddressOf(int host) { return version->host + std::to_string(host); }
IpAddress SenderAddress() { return ParseIpAddress(AddressOf(1)).value(); }
IpAddress ReceiverAddress() { return ParseIpAddress(AddressOf(2)).value(); }

PortRewriter::Change Departure(uint16_t port) {
  return {{agent::RewriteRule::Direction::kDeparture, SenderAddress(), ReceiverAddress(), kSocketPort, kListenPort},
          port};
}
PortRewriter::Change Arrival(uint16_t wire_port, uint16_t port = kSocketPort) {
  return {{agent::RewriteRule::Direction::kArrival, SenderAddress(), ReceiverAddress(), wire_port, kListenPort}, port};
}

// In a child process: what fails there ends it with 1.
void Require(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "failed: %s (errno %d)\n", what, errno);
  _exit(1);
}
void RequireOk(const Status& status) { Require(status.ok(), status.message().c_str()); }
#define REQUIRE(condition) Require(condition, #condition)

void RunIp(const std::string& lines) {
  const auto outcome = RunExecHook({.command = {"/sbin/ip", version->option, "-batch", "-"}}, lines);
  Require(outcome.ok() && outcome->ok(), outcome.ok() ? outcome->output.c_str() : "ip");
}
void WriteSetting(const char* path, const char* value) {
  std::ofstream file(path);
  if (!(file << value << std::flush)) _exit(kSkip);
}

// Two links between the hosts, chosen by a hash over addresses and ports.
void SetUpHost(int own, const std::string& side) {
  const std::string other = std::to_string(3 - own), self = std::to_string(own);
  std::string lines =
      "link set lo up\naddress add " + AddressOf(own) + version->host_mask + " dev lo" + version->no_check + "\n";
  std::string hops;
  for (int link = 0; link < 2; ++link) {
    const std::string device = side + std::to_string(link + 1);
    lines += "address add " + version->links[link] + self + version->link_mask + " dev " + device + version->no_check +
             "\nlink set " + device + " up\n";
    hops += " nexthop via " + version->links[link] + other + " dev " + device;
  }
  RunIp(lines + "route add " + AddressOf(3 - own) + version->host_mask + " src " + AddressOf(own) + hops + "\n");
  WriteSetting(version->hash_setting.c_str(), "1");
  WriteSetting("/proc/sys/net/ipv4/conf/all/rp_filter", "0");
}

// Calls bind() or connect().
int At(int (*call)(int, const sockaddr*, socklen_t), int socket, const std::string& address, uint16_t port) {
  if (version->family == AF_INET) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    inet_pton(AF_INET, address.c_str(), &at.sin_addr);
    return call(socket, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
  }
  sockaddr_in6 at = {};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(port);
  inet_pton(AF_INET6, address.c_str(), &at.sin6_addr);
  return call(socket, reinterpret_cast<const sockaddr*>(&at), sizeof(at));
}

// What one host tells the other: prepare a port, or the sum of what was received.
struct Word {
  char kind = 0;  // 'r'eady, 'p'repare, 'd'one, 's'um, 'o'pen again, 'c'lose
  uint16_t port = 0;
  uint64_t num_bytes = 0;
  uint64_t sum = 0;
};
void Tell(int channel, Word word) { REQUIRE(send(channel, &word, sizeof(word), 0) == sizeof(word)); }
Word Hear(int channel) {
  Word word;
  REQUIRE(recv(channel, &word, sizeof(word), MSG_WAITALL) == sizeof(word));
  return word;
}

uint64_t Mix(uint64_t sum, const char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) sum = sum * 31 + static_cast<unsigned char>(bytes[i]);
  return sum;
}

struct Receiver {
  PortRewriter rewriter;
  Descriptor connection;
};

Receiver Accept(int channel) {
  if (unshare(CLONE_NEWNET) != 0) _exit(kSkip);
  Tell(channel, {.kind = 'r'});
  Hear(channel);  // the links are there
  SetUpHost(2, "b");
  auto opened = PortRewriter::Open();
  if (!opened.ok()) _exit(kSkip);
  const Descriptor listener(socket(version->family, SOCK_STREAM, 0));
  REQUIRE(At(bind, listener.get(), AddressOf(2), kListenPort) == 0 && listen(listener.get(), 1) == 0);
  Tell(channel, {.kind = 'r'});
  return {std::move(*opened), Descriptor(accept(listener.get(), nullptr, nullptr))};
}

[[noreturn]] void BeReceiver(int channel) {
  Receiver receiver = Accept(channel);
  const Descriptor& connection = receiver.connection;
  std::optional<PortRewriter> rewriter(std::move(receiver.rewriter));
  Word total{.kind = 's'};
  for (bool is_over = false; !is_over;) {
    std::array<pollfd, 2> watched = {{{connection.get(), POLLIN, 0}, {channel, POLLIN, 0}}};
    poll(watched.data(), watched.size(), -1);
    if (watched[0].revents != 0) {
      std::array<char, 65536> buffer;
      const ssize_t size = recv(connection.get(), buffer.data(), buffer.size(), 0);
      REQUIRE(size >= 0);
      is_over = size == 0;
      total.num_bytes += static_cast<uint64_t>(size);
      total.sum = Mix(total.sum, buffer.data(), static_cast<size_t>(size));
    }
    if (watched[1].revents == 0) continue;
    const Word word = Hear(channel);
    if (word.kind == 'p') RequireOk(rewriter->Apply(std::array{Arrival(word.port)}));
    if (word.kind == 'o') {
      rewriter.emplace(PortRewriter::Open().value());  // the previous one ends without a message
      REQUIRE(!rewriter->rules().empty() && rewriter->num_orphans() == rewriter->rules().size());
      RequireOk(rewriter->ClearOrphans({{ReceiverAddress(), SenderAddress(), kListenPort, kSocketPort}}));
      REQUIRE(!rewriter->rules().empty());
      const auto is_gone = rewriter->Close();
      REQUIRE(is_gone.ok() && !*is_gone);
    }
    Tell(channel, {.kind = 'd'});
  }
  // The connection is over: the rules of the previous rewriter and of this one are not needed.
  RequireOk(rewriter->ClearOrphans({}));
  RequireOk(rewriter->Apply(std::array{Arrival(51'003, 0), Arrival(51'004, 0)}));
  const auto is_gone = rewriter->Close();
  REQUIRE(is_gone.ok() && *is_gone);
  Tell(channel, total);
  _exit(0);
}

// Source ports of outgoing TCP packets with data, latest last; and how many went by each of the two links.
class Tap {
 public:
  Tap() : socket_(socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL))) { REQUIRE(socket_.is_open()); }

  uint16_t LastPort(std::array<int, 2>* num_by_link) {
    uint16_t port = 0;
    for (;;) {
      std::array<unsigned char, 128> bytes;
      sockaddr_ll from = {};
      socklen_t length = sizeof(from);
      const ssize_t size =
          recvfrom(socket_.get(), bytes.data(), bytes.size(), MSG_TRUNC, reinterpret_cast<sockaddr*>(&from), &length);
      if (size < 0) return port;
      if (from.sll_pkttype != PACKET_OUTGOING || size < 200 || bytes[version->protocol_at] != IPPROTO_TCP) continue;
      port = static_cast<uint16_t>(bytes[version->port_at] << 8 | bytes[version->port_at + 1]);
      ++(*num_by_link)[from.sll_ifindex == static_cast<int>(if_nametoindex("a1")) ? 0 : 1];
    }
  }

 private:
  Descriptor socket_;
};

struct Stream {
  Descriptor socket{::socket(version->family, SOCK_STREAM, 0)};
  Random random{9};
  uint64_t num_bytes = 0;
  uint64_t sum = 0;

  void Send(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Below(256));
    for (size_t sent = 0; sent < size;) {
      const ssize_t count = send(socket.get(), bytes.data() + sent, size - sent, MSG_NOSIGNAL);
      REQUIRE(count > 0);
      sent += static_cast<size_t>(count);
    }
    num_bytes += size;
    sum = Mix(sum, bytes.data(), size);
    // Until the other end has it all.
    for (int left = 1; left > 0;) REQUIRE(ioctl(socket.get(), SIOCOUTQ, &left) == 0);
  }
};

void MoveAndSend(int channel, PortRewriter* rewriter, Stream* stream, Tap* tap, uint16_t port,
                 std::array<int, 2>* links) {
  std::array<int, 2> before = {};
  tap->LastPort(&before);
  if (port != kSocketPort) {
    Tell(channel, {.kind = 'p', .port = port});
    Hear(channel);
  }
  RequireOk(rewriter->Apply(std::array{Departure(port == kSocketPort ? uint16_t{0} : port)}));
  stream->Send(100'000);
  std::array<int, 2> now = {};
  REQUIRE(tap->LastPort(&now) == port);
  REQUIRE((now[0] == 0) != (now[1] == 0));  // a port has one way
  for (size_t i = 0; i < 2; ++i) (*links)[i] += now[i] > 0 ? 1 : 0;
}

struct Sender {
  Stream stream;
  std::optional<PortRewriter> rewriter;
};

Sender Connect(int channel, pid_t receiver) {
  if (unshare(CLONE_NEWNET) != 0) _exit(kSkip);
  Hear(channel);
  const std::string other = std::to_string(receiver);
  RunIp("link add a1 type veth peer name b1 netns " + other + "\nlink add a2 type veth peer name b2 netns " + other +
        "\n");
  SetUpHost(1, "a");
  Tell(channel, {.kind = 'r'});
  auto opened = PortRewriter::Open();
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().message().c_str());
    _exit(kSkip);
  }
  Hear(channel);
  Sender sender{.stream = {}, .rewriter = std::move(*opened)};
  const int socket = sender.stream.socket.get();
  REQUIRE(At(bind, socket, AddressOf(1), kSocketPort) == 0);
  REQUIRE(At(connect, socket, AddressOf(2), kListenPort) == 0);
  return sender;
}

[[noreturn]] void BeSender(int channel, pid_t receiver) {
  auto [stream, opened] = Connect(channel, receiver);
  Tap tap;
  std::array<int, 2> links = {};
  // Of 16 ports all take the same link with a chance of 2^-15.
  for (uint16_t port = 51'001; port <= 51'016; ++port) MoveAndSend(channel, &*opened, &stream, &tap, port, &links);
  REQUIRE(links[0] > 0 && links[1] > 0);
  // Both agents are killed, and the next ones come; the connection does not notice.
  Tell(channel, {.kind = 'o'});
  Hear(channel);
  { const PortRewriter ended = std::move(*opened); }
  stream.Send(100'000);
  auto next = PortRewriter::Open();
  RequireOk(next.status());
  REQUIRE(next->rules().size() == 1);
  RequireOk(next->ClearOrphans({{SenderAddress(), ReceiverAddress(), kSocketPort, kListenPort}}));
  REQUIRE(next->rules().size() == 1);
  MoveAndSend(channel, &*next, &stream, &tap, 51'003, &links);
  MoveAndSend(channel, &*next, &stream, &tap, kSocketPort, &links);
  MoveAndSend(channel, &*next, &stream, &tap, 51'004, &links);
  const auto is_gone = next->Close();
  REQUIRE(is_gone.ok() && *is_gone);
  stream.Send(100'000);
  shutdown(stream.socket.get(), SHUT_WR);
  const Word total = Hear(channel);
  REQUIRE(total.num_bytes == stream.num_bytes && total.sum == stream.sum);
  _exit(0);
}

// Closes while its peer sends on, and forgets where that comes from.
[[noreturn]] void BeForgetfulReceiver(int channel) {
  Receiver receiver = Accept(channel);
  for (char kind = 0; kind != 'c';) {
    const Word word = Hear(channel);
    kind = word.kind;
    if (kind == 'p') RequireOk(receiver.rewriter.Apply(std::array{Arrival(word.port)}));
    if (kind == 'c') {
      receiver.connection = Descriptor();
      RequireOk(receiver.rewriter.Apply(std::array{Arrival(51'002, 0)}));
    }
    Tell(channel, {.kind = 'd'});
  }
  Hear(channel);  // the namespace lives until then
  _exit(0);
}

// Moved twice, and the agent is a newer one since; what it sends is refused at once, and it hears of it.
[[noreturn]] void BeRefusedSender(int channel, pid_t receiver) {
  auto [stream, rewriter] = Connect(channel, receiver);
  for (const uint16_t port : {uint16_t{51'001}, uint16_t{51'002}}) {
    Tell(channel, {.kind = 'p', .port = port});
    Hear(channel);
    RequireOk(rewriter->Apply(std::array{Departure(port)}));
  }
  rewriter.reset();
  // As an agent leaves it that knows of no returns.
  const auto flushed =
      RunExecHook({.command = {"/usr/sbin/nft", "flush map inet fairlead_agent " + version->return_map}}, "");
  REQUIRE(flushed.ok() && flushed->ok());
  rewriter = PortRewriter::Open().value();
  Tell(channel, {.kind = 'c'});
  Hear(channel);
  // It may have heard already, by its acknowledgement of the close.
  const char byte = 'x';
  pollfd watched = {stream.socket.get(), 0, 0};  // errors only
  const bool is_sent = send(stream.socket.get(), &byte, 1, MSG_NOSIGNAL) == 1;
  REQUIRE(!is_sent || (poll(&watched, 1, 20'000) == 1 && (watched.revents & POLLERR) != 0));
  const auto is_gone = rewriter->Close();
  REQUIRE(is_gone.ok() && *is_gone);
  Tell(channel, {.kind = 'd'});
  _exit(0);
}

void RunBoth(const Version& with, const std::function<void(int channel)>& be_receiver,
             const std::function<void(int channel, pid_t receiver)>& be_sender) {
  version = &with;
  std::array<int, 2> ends;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const pid_t receiver = fork();
  if (receiver == 0) {
    close(ends[0]);
    be_receiver(ends[1]);
  }
  const pid_t sender = fork();
  if (sender == 0) {
    close(ends[1]);
    be_sender(ends[0], receiver);
  }
  close(ends[0]);
  close(ends[1]);
  int sent = 0, received = 0;
  waitpid(sender, &sent, 0);
  waitpid(receiver, &received, 0);
  const bool is_skipped =
      (WIFEXITED(sent) && WEXITSTATUS(sent) == kSkip) || (WIFEXITED(received) && WEXITSTATUS(received) == kSkip);
  if (is_skipped)
    GTEST_SKIP() << "no network namespaces or no nftables here (both need the right to administer networks)";
  EXPECT_EQ(sent, 0);
  EXPECT_EQ(received, 0);
}

TEST_P(PortRewriterTest, AConnectionIsMovedWhileItRuns) { RunBoth(*GetParam(), BeReceiver, BeSender); }

TEST_P(PortRewriterTest, ASocketHearsThatItsPeerHasGone) { RunBoth(*GetParam(), BeForgetfulReceiver, BeRefusedSender); }

INSTANTIATE_TEST_SUITE_P(Versions, PortRewriterTest, testing::Values(&kIpv4, &kIpv6),
                         [](const auto& test) { return test.param == &kIpv4 ? "Ipv4" : "Ipv6"; });

}  // namespace
}  // namespace fairlead::service
