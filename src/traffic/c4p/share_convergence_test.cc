// What shares are worth where connections meet: 8 connections on 7 of 8 uplinks, in a fluid model of messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "traffic/c4p/share_balancer.h"

namespace fairlead::traffic::c4p {
namespace {

// Bytes cross each uplink at its capacity, shared equally by the QPs that have something to send. Connections send
// message after message: the next one begins when all parts of the last one have arrived.
class Uplinks {
 public:
  struct Connection {
    Connection(std::vector<size_t> links_of_qps, uint64_t seed, const ShareOptions& options)
        : links(std::move(links_of_qps)), balancer(links.size(), seed, options) {}

    std::vector<size_t> links;  // [QP]
    ShareBalancer balancer;
    SimTime next_period;
    SimTime message_start;
    std::vector<double> size;  // [QP] of the part in flight
    std::vector<double> left;  // [QP]
    double bytes = 0;          // of messages that arrived
  };

  Uplinks(std::vector<double> capacities, bool balance) : capacities_(std::move(capacities)), balance_(balance) {}

  void Add(std::vector<size_t> links, const ShareOptions& options) {
    connections_.emplace_back(std::move(links), connections_.size(), options);
    connections_.back().next_period = SimTime::FromSeconds(connections_.back().balancer.NextPeriod());
    BeginMessage(connections_.back());
  }

  // [connection] mean rates over the time.
  std::vector<double> RunFor(double seconds) {
    const double end = now_ + seconds;
    for (Connection& c : connections_) c.bytes = 0;
    while (now_ < end) Advance(end);
    std::vector<double> rates;
    for (const Connection& c : connections_) rates.push_back(c.bytes / seconds);
    return rates;
  }

  const Connection& connection(size_t c) const { return connections_[c]; }

 private:
  static constexpr double kMessage = 0.01;

  SimTime Now() const { return SimTime::FromSeconds(Seconds(now_)); }

  void BeginMessage(Connection& connection) {
    connection.size.clear();
    for (const double share : connection.balancer.shares()) connection.size.push_back(share * kMessage);
    connection.left = connection.size;
    connection.message_start = Now();
  }

  // To the next end of a part or of a period.
  void Advance(double end) {
    std::vector<double> rates = capacities_;
    std::vector<size_t> active(capacities_.size());
    for (const Connection& c : connections_) {
      for (size_t q = 0; q < c.links.size(); ++q) active[c.links[q]] += c.left[q] > 0 ? 1 : 0;
    }
    for (size_t l = 0; l < rates.size(); ++l) rates[l] /= static_cast<double>(std::max<size_t>(active[l], 1));
    double step = end - now_;
    for (const Connection& c : connections_) {
      for (size_t q = 0; q < c.links.size(); ++q) {
        if (c.left[q] > 0) step = std::min(step, c.left[q] / rates[c.links[q]]);
      }
    }
    now_ += step;
    for (Connection& c : connections_) Move(c, rates, step);
  }

  void Move(Connection& c, const std::vector<double>& rates, double step) {
    for (size_t q = 0; q < c.links.size(); ++q) {
      if (c.left[q] == 0) continue;
      c.left[q] -= rates[c.links[q]] * step;
      if (c.left[q] > 1e-12) continue;
      c.left[q] = 0;
      c.balancer.RecordPart(q, Bytes(c.size[q]), (Now() - c.message_start).seconds(), Now());
    }
    if (balance_ && Now() >= c.next_period) {
      c.balancer.Rebalance();
      c.next_period = Now() + SimDuration::FromSeconds(c.balancer.NextPeriod());
    }
    if (std::all_of(c.left.begin(), c.left.end(), [](double left) { return left == 0; })) {
      c.bytes += kMessage;
      BeginMessage(c);
    }
  }

  std::vector<double> capacities_;
  bool balance_;
  std::vector<Connection> connections_;
  double now_ = 0;
};

// One connection alone on paths of 1, 2, 3 and 4 bytes/s. Equal shares wait for the slowest path: 4 bytes/s. Shares by
// tau stop after five periods (6 s with jitter at most, see share_balancer_test.cc), when the longest part takes 1
// + 1.5 / 32 times what it could.
TEST(ShareConvergenceTest, AConnectionAloneUsesTheSpeedOfAllItsPaths) {
  for (const bool balance : {false, true}) {
    Uplinks uplinks({1, 2, 3, 4}, balance);
    uplinks.Add({0, 1, 2, 3}, {});
    uplinks.RunFor(8);
    EXPECT_NEAR(uplinks.RunFor(10)[0], balance ? 10 / (1 + 1.5 / 32) : 4, 0.01);
  }
}

// Eight connections of four QPs, and uplink 7 of 8 is lost. QP q of connection c was on uplink (c + q) mod 8; the four
// of uplink 7 moved, each to another one: uplinks 1, 3, 5, 6 have 5 QPs, 0, 2, 4 have 4.
const std::vector<std::vector<size_t>> kUplinks = {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6},
                                                   {4, 5, 6, 1}, {5, 6, 0, 3}, {6, 0, 1, 5}, {0, 1, 2, 6}};

// A QP that always has something to send gets 1 / (QPs on its uplink), and its connection the sum: 0.9 with two QPs on
// crowded uplinks, 0.85 with three, and all together 7, the whole fabric.
std::vector<double> QpRates(size_t c) {
  std::vector<double> rates;
  for (const size_t l : kUplinks[c]) rates.push_back(l == 1 || l == 3 || l == 5 || l == 6 ? 0.2 : 0.25);
  return rates;
}

double Sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

Uplinks EightConnections(bool balance, double jitter) {
  ShareOptions options;
  options.jitter = jitter;
  Uplinks uplinks(std::vector<double>(7, 1.0), balance);
  for (const std::vector<size_t>& links : kUplinks) uplinks.Add(links, options);
  return uplinks;
}

// Spec section 9.6. Whole flows move: two of eight share an uplink, and have 0.5 each. Equal shares on four QPs: every
// connection has a QP on an uplink of five, ceil(8 * 4 / 7) = 5, and waits for it: 1 / (5 * 0.25) = 0.8, 6.4 in all.
TEST(ShareConvergenceTest, WithoutSharesTheCrowdedUplinkDecides) {
  Uplinks flows(std::vector<double>(7, 1.0), true);
  for (size_t c = 0; c < 8; ++c) flows.Add({c % 7}, {});
  EXPECT_NEAR(Least(flows.RunFor(10)), 0.5, 0.01);
  for (const double rate : EightConnections(false, 0.2).RunFor(10)) EXPECT_NEAR(rate, 0.8, 0.01);
}

// Shares by tau: connections come near their 0.9 and 0.85. What is missing (seen: 2.0 % of the fabric with jitter, 2.2
// % without; at worst 2.3 and 4.7 % of a connection) is time that QPs wait for the others of their message; it is less
// than what stop_ratio allows. The slowest connection reaches 0.950 of the ideal 7/8, 0.926 without jitter; 0.85 is
// 0.971 of it, as far as shares can get on these uplinks, and docs/spec/c4.md section 12.2 asks for 0.92.
TEST(ShareConvergenceTest, SharesComeNearSevenEighths) {
  for (const double jitter : {0.0, 0.2}) {
    Uplinks uplinks = EightConnections(true, jitter);
    uplinks.RunFor(10);
    const std::vector<double> rates = uplinks.RunFor(60);
    for (size_t c = 0; c < 8; ++c) EXPECT_GT(rates[c], Sum(QpRates(c)) / ShareOptions().stop_ratio) << c;
    EXPECT_GT(Least(rates), 0.92 * 7 / 8) << "jitter " << jitter;
    EXPECT_GT(Sum(rates), 0.97 * 7) << "jitter " << jitter;
  }
}

// The most that any share of the eight connections changes in the time.
double Swing(Uplinks* uplinks, int seconds) {
  std::vector<double> least(32, 1);
  std::vector<double> most(32, 0);
  for (int second = 0; second < seconds; ++second) {
    uplinks->RunFor(1);
    for (size_t i = 0; i < 32; ++i) {
      const double share = uplinks->connection(i / 4).balancer.shares()[i % 4];
      least[i] = std::min(least[i], share);
      most[i] = std::max(most[i], share);
    }
  }
  double swing = 0;
  for (size_t i = 0; i < 32; ++i) swing = std::max(swing, most[i] - least[i]);
  return swing;
}

// Connections answer to each other, a period late, and never rest quite. But no share swings by a quarter of 0.25, and
// it gets no worse with time (seen: 0.050 with jitter, 0.040 without; 0.10 where damping is 1).
TEST(ShareConvergenceTest, SharesDoNotSwing) {
  for (const double jitter : {0.0, 0.2}) {
    Uplinks uplinks = EightConnections(true, jitter);
    uplinks.RunFor(10);
    EXPECT_LT(Swing(&uplinks, 60), 0.25 / 4) << "jitter " << jitter;
    EXPECT_LT(Swing(&uplinks, 120), 0.25 / 4) << "jitter " << jitter;
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
