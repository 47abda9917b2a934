#include "experiments/packet-level/ns3_twin.h"

// Not the modules' headers: some of what they include is no C++20.
#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/ipv4-packet-filter.h>
#include <ns3/ipv4-queue-disc-item.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/point-to-point-helper.h>
#include <ns3/queue-disc.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/socket.h>
#include <ns3/string.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/traffic-control-helper.h>
#include <ns3/uinteger.h>

#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"

namespace fairlead::experiments::packet_level {

namespace {

using ns3::BooleanValue;
using ns3::DoubleValue;
using ns3::Ptr;
using ns3::StringValue;
using ns3::TimeValue;
using ns3::UintegerValue;
using ns3::Config::SetDefault;

// PPP 2, IPv4 20, TCP without options 20.
constexpr uint32_t kFrameHeader = 42;
constexpr uint16_t kPort = 5000;
// Handshakes are over by then.
constexpr double kStartS = 1e-3;

void SetDefaults(const packet::PacketOptions& options) {
  SetDefault("ns3::TcpL4Protocol::SocketType", ns3::TypeIdValue(ns3::TcpDctcp::GetTypeId()));
  SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.payload));
  SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 29));
  SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 29));
  SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(ns3::MilliSeconds(5)));
  SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(ns3::MicroSeconds(1)));
  // Marks between two thresholds, judged by the queue as it is.
  SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
  SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
  SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
  SetDefault("ns3::RedQueueDisc::Wait", BooleanValue(false));
  SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
  SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(options.payload + kFrameHeader));
  SetDefault("ns3::RedQueueDisc::MaxSize", StringValue("64MB"));
  SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(options.mark_min));
  SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(options.mark_max));
  SetDefault("ns3::RedQueueDisc::LInterm", DoubleValue(1 / options.mark_probability));
  // One packet in the device, all others where they can be marked and overtaken.
  SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1p"));
}

// Packets to some addresses go to the second band, all others to the first. (Not by type of service: ns-3 takes ECN
// away from sockets that have one.)
class LevelFilter : public ns3::Ipv4PacketFilter {
 public:
  explicit LevelFilter(const std::set<ns3::Ipv4Address>* lesser) : lesser_(lesser) {}

 private:
  int32_t DoClassify(Ptr<ns3::QueueDiscItem> item) const override {
    const auto packet = ns3::DynamicCast<ns3::Ipv4QueueDiscItem>(item);
    return lesser_->contains(packet->GetHeader().GetDestination()) ? 1 : 0;
  }

  const std::set<ns3::Ipv4Address>* lesser_;
};

// A case on its way through ns-3, from building the network to the last byte.
class Ns3Run {
 public:
  Ns3Run(const TwinCase& twin, uint64_t seed) : twin_(twin), is_sprayed_(!twin.ends.front().spine) {
    ns3::RngSeedManager::SetSeed(1);
    ns3::RngSeedManager::SetRun(seed);
    SetDefaults(twin.options);
    // Packets overtake one another where each takes a path of its own: none is taken for lost by that alone.
    SetDefault("ns3::TcpSocketBase::ReTxThreshold", UintegerValue(is_sprayed_ ? 1000 : 3));
    SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    for (const packet::Connection& connection : twin.packets.connections) {
      FL_CHECK_MSG(connection.level < 2, "there are two bands");
      has_levels_ |= connection.level > 0;
    }
    BuildNetwork();
    Connect();
  }
  ~Ns3Run() { ns3::Simulator::Destroy(); }
  Ns3Run(const Ns3Run&) = delete;
  Ns3Run& operator=(const Ns3Run&) = delete;

  Ns3Times Run() {
    const std::vector<packet::Message>& messages = twin_.packets.messages;
    result_.times.ready_s.assign(messages.size(), std::numeric_limits<double>::quiet_NaN());
    result_.times.finish_s = result_.times.ready_s;
    followers_.resize(messages.size());
    for (uint32_t m = 0; m < messages.size(); ++m) {
      waits_.push_back(messages[m].after.size());
      for (const uint32_t before : messages[m].after) followers_[before].push_back(m);
      if (messages[m].after.empty()) Schedule(kStartS + messages[m].delay_s, m);
    }
    ns3::Simulator::Run();
    for (const double finish_s : result_.times.finish_s) FL_CHECK_MSG(finish_s > 0, "a message never arrived");
    for (const ns3::QueueDiscContainer& discs : queue_discs_) {
      for (uint32_t d = 0; d < discs.GetN(); ++d) {
        const ns3::QueueDisc::Stats& stats = discs.Get(d)->GetStats();
        result_.dropped += stats.nTotalDroppedPackets;
        result_.marked += stats.nTotalMarkedPackets;
      }
    }
    return std::move(result_);
  }

 private:
  struct Flow {
    Ptr<ns3::Socket> sender;
    Ptr<ns3::Socket> receiver;
    std::deque<uint32_t> messages;  // sent, not yet arrived as a whole
    uint64_t received = 0;          // bytes of the first of them
  };

  // ---- The network ----

  void BuildNetwork() {
    hosts_.Create(kNumHosts);
    leaves_.Create(kNumLeaves);
    spines_.Create(kNumSpines);
    ns3::InternetStackHelper internet;
    ns3::Ipv4StaticRoutingHelper pinned;
    ns3::Ipv4GlobalRoutingHelper sprayed;
    is_sprayed_ ? internet.SetRoutingHelper(sprayed) : internet.SetRoutingHelper(pinned);
    internet.InstallAll();
    const double on_wire =
        kLinkBytesPerS * (twin_.options.payload + kFrameHeader) / (twin_.options.payload + twin_.options.header);
    cable_.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(static_cast<uint64_t>(8 * on_wire))));
    cable_.SetDeviceAttribute("Mtu", UintegerValue(twin_.options.payload + 100));
    cable_.SetChannelAttribute("Delay", TimeValue(ns3::Seconds(kLinkDelayS)));
    subnets_.SetBase("10.0.0.0", "255.255.255.252");
    // Interface 0 is the loopback: 1 of a host is its NIC; 1 + i of a leaf goes to its host i, then the spines.
    for (uint32_t h = 0; h < kNumHosts; ++h) AddCable(hosts_.Get(h), leaves_.Get(h / kHostsPerLeaf));
    leaf_to_spine_.resize(size_t{kNumLeaves} * kNumSpines);
    spine_to_leaf_.resize(size_t{kNumLeaves} * kNumSpines);
    for (uint32_t leaf = 0; leaf < kNumLeaves; ++leaf) {
      for (uint32_t spine = leaf == 0 ? twin_.num_dead_uplinks : 0; spine < kNumSpines; ++spine) {
        const auto [up, down] = AddCable(leaves_.Get(leaf), spines_.Get(spine));
        leaf_to_spine_[leaf * kNumSpines + spine] = up;
        spine_to_leaf_[leaf * kNumSpines + spine] = down;
      }
    }
    if (is_sprayed_) {
      ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    } else {
      for (uint32_t h = 0; h < kNumHosts; ++h) AddWaysBack(h);
    }
  }

  // Returns the numbers of the interfaces at both ends.
  std::pair<uint32_t, uint32_t> AddCable(const Ptr<ns3::Node>& one, const Ptr<ns3::Node>& other) {
    const ns3::NetDeviceContainer devices = cable_.Install(one, other);
    ns3::TrafficControlHelper queues;
    if (has_levels_) {
      const uint16_t root = queues.SetRootQueueDisc("ns3::PrioQueueDisc");
      for (const uint16_t band : queues.AddQueueDiscClasses(root, 2, "ns3::QueueDiscClass")) {
        queues.AddChildQueueDisc(root, band, "ns3::RedQueueDisc");
      }
    } else {
      queues.SetRootQueueDisc("ns3::RedQueueDisc");
    }
    queue_discs_.push_back(queues.Install(devices));
    for (uint32_t end = 0; has_levels_ && end < 2; ++end) {
      queue_discs_.back().Get(end)->AddPacketFilter(ns3::Create<LevelFilter>(&lesser_));
    }
    const ns3::Ipv4InterfaceContainer ends = subnets_.Assign(devices);
    subnets_.NewNetwork();
    return {ends.Get(0).second, ends.Get(1).second};
  }

  static void AddRoute(const Ptr<ns3::Node>& node, ns3::Ipv4Address to, uint32_t interface) {
    ns3::Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<ns3::Ipv4>())->AddHostRouteTo(to, interface);
  }
  // Over one spine to a host, from all hosts of a leaf that know it.
  void AddWay(uint32_t from_leaf, uint32_t spine, uint32_t to, ns3::Ipv4Address address) {
    const uint32_t to_leaf = to / kHostsPerLeaf;
    AddRoute(leaves_.Get(to_leaf), address, 1 + to % kHostsPerLeaf);
    if (from_leaf == to_leaf) return;
    AddRoute(leaves_.Get(from_leaf), address, leaf_to_spine_[from_leaf * kNumSpines + spine]);
    AddRoute(spines_.Get(spine), address, spine_to_leaf_[to_leaf * kNumSpines + spine]);
  }
  // ns-3 sends all acknowledgements to the first address of a host, whatever its sockets are bound to: over a spine of
  // the host, not of the connection.
  void AddWaysBack(uint32_t host) {
    const uint32_t spine = twin_.num_dead_uplinks + host % (kNumSpines - twin_.num_dead_uplinks);
    for (uint32_t leaf = 0; leaf < kNumLeaves; ++leaf) AddWay(leaf, spine, host, OwnAddress(host));
    for (uint32_t other = 0; other < kNumHosts; ++other) {
      if (other != host) AddRoute(hosts_.Get(other), OwnAddress(host), 1);
    }
  }
  ns3::Ipv4Address AddAddress(uint32_t host) {
    const ns3::Ipv4Address address(ns3::Ipv4Address("172.16.0.0").Get() + ++num_addresses_);
    hosts_.Get(host)->GetObject<ns3::Ipv4>()->AddAddress(
        1, ns3::Ipv4InterfaceAddress(address, ns3::Ipv4Mask("255.255.255.255")));
    return address;
  }
  ns3::Ipv4Address OwnAddress(uint32_t host) const {
    return hosts_.Get(host)->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
  }

  // ---- Connections ----

  void Connect() {
    flows_.resize(twin_.ends.size());
    for (uint32_t c = 0; c < twin_.ends.size(); ++c) {
      const ConnectionEnds& ends = twin_.ends[c];
      FL_CHECK_MSG(is_sprayed_ == !ends.spine, "all connections of a case are sprayed or none is");
      ns3::Ipv4Address destination = OwnAddress(ends.destination);
      if (ends.spine) {
        destination = AddAddress(ends.destination);
        if (twin_.packets.connections[c].level > 0) lesser_.insert(destination);
        AddRoute(hosts_.Get(ends.source), destination, 1);
        AddWay(ends.source / kHostsPerLeaf, *ends.spine, ends.destination, destination);
      }
      const auto port = static_cast<uint16_t>(kPort + c);
      const ns3::TypeId tcp = ns3::TcpSocketFactory::GetTypeId();
      const Ptr<ns3::Socket> listener = ns3::Socket::CreateSocket(hosts_.Get(ends.destination), tcp);
      listener->Bind(ns3::InetSocketAddress(destination, port));
      listener->Listen();
      listener->SetAcceptCallback(ns3::MakeNullCallback<bool, Ptr<ns3::Socket>, const ns3::Address&>(),
                                  ns3::Callback<void, Ptr<ns3::Socket>, const ns3::Address&>(
                                      [this, c](const Ptr<ns3::Socket>& accepted, const ns3::Address&) {
                                        flows_[c].receiver = accepted;
                                        accepted->SetRecvCallback(ns3::Callback<void, Ptr<ns3::Socket>>(
                                            [this, c](const Ptr<ns3::Socket>&) { Receive(c); }));
                                      }));
      flows_[c].sender = ns3::Socket::CreateSocket(hosts_.Get(ends.source), tcp);
      flows_[c].sender->Bind();
      const ns3::InetSocketAddress peer(destination, port);
      // Queues exist from time 0 on only.
      ns3::Simulator::Schedule(ns3::MicroSeconds(1), [sender = flows_[c].sender, peer] { sender->Connect(peer); });
    }
  }

  // ---- Messages ----

  static double Now() { return ns3::Simulator::Now().GetSeconds(); }
  void Schedule(double in_s, uint32_t message) {
    ns3::Simulator::Schedule(ns3::Seconds(in_s), [this, message] { Send(message); });
  }
  void Send(uint32_t message) {
    const packet::Message& ready = twin_.packets.messages[message];
    Flow& flow = flows_[ready.connection];
    FL_CHECK_MSG(flow.receiver != nullptr, "not connected");
    result_.times.ready_s[message] = Now() - kStartS;
    flow.messages.push_back(message);
    const auto bytes = static_cast<uint32_t>(ready.bytes);
    FL_CHECK_MSG(flow.sender->Send(ns3::Create<ns3::Packet>(bytes)) == static_cast<int>(bytes),
                 "more than is buffered");
  }
  void Receive(uint32_t connection) {
    Flow& flow = flows_[connection];
    while (const Ptr<ns3::Packet> packet = flow.receiver->Recv()) flow.received += packet->GetSize();
    while (!flow.messages.empty() && flow.received >= twin_.packets.messages[flow.messages.front()].bytes) {
      const uint32_t message = flow.messages.front();
      flow.messages.pop_front();
      flow.received -= twin_.packets.messages[message].bytes;
      result_.times.finish_s[message] = Now() - kStartS;
      for (const uint32_t follower : followers_[message]) {
        if (--waits_[follower] == 0) Schedule(twin_.packets.messages[follower].delay_s, follower);
      }
    }
  }

  const TwinCase& twin_;
  bool is_sprayed_;
  bool has_levels_ = false;
  ns3::NodeContainer hosts_;
  ns3::NodeContainer leaves_;
  ns3::NodeContainer spines_;
  ns3::PointToPointHelper cable_;
  ns3::Ipv4AddressHelper subnets_;
  std::vector<ns3::QueueDiscContainer> queue_discs_;
  std::vector<uint32_t> leaf_to_spine_;  // [leaf * kNumSpines + spine] interface of the leaf
  std::vector<uint32_t> spine_to_leaf_;  // [leaf * kNumSpines + spine] interface of the spine
  uint32_t num_addresses_ = 0;
  std::set<ns3::Ipv4Address> lesser_;             // of connections below level 0
  std::vector<Flow> flows_;                       // [connection]
  std::vector<size_t> waits_;                     // [message] for so many others
  std::vector<std::vector<uint32_t>> followers_;  // [message]
  Ns3Times result_;
};

}  // namespace

Ns3Times RunNs3(const TwinCase& twin, uint64_t seed) { return Ns3Run(twin, seed).Run(); }

}  // namespace fairlead::experiments::packet_level
