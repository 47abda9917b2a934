// Who speaks on which stream: the agents of hosts, each bound to its host by a hello, and what is told to each anew.
//
//     stream   opened -- HostHello --> bound to a host -- a later hello of that host --> closed
//                        anything else --> refused, closed
//
// Problem     agents speak for hosts, come back while their old stream seems to live, may be of another version, of
//             another cluster, or hostile.
// Method      the first message on a stream has to be a hello, whose host, addresses and version fit the fabric. It
//             binds the stream to the host; of two streams of a host the newer one counts, and the older one is
//             ended.
// Guarantees  nothing is sent to a stream after its end, and nothing said on it counts. A host has one stream at
//             most.
// Cost        O(log of streams) for each message.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"
#include "controller/traffic_outputs.h"
#include "topology/address_book.h"
#include "topology/fabric.h"

namespace fairlead::controller {

class AgentStreams {
 public:
  struct Sender {
    HostId host;             // invalid before its hello
    bool is_closed = false;  // by us: the other end may not know yet
  };
  // Of a host.
  struct Agent {
    std::optional<StreamId> stream;  // nothing: it is away
    std::string version;
    bool can_test = false;  // takes HostTestWanted
    SimTime last_message;
    HostJudged judged;
    // Jobs of which Slurm has processes there, as its stream has told last; nothing: it can't tell, or has not yet.
    std::optional<std::vector<uint32_t>> slurm_jobs;
  };

  // The references must outlive this. Args: welcome: what agents are told after their hello.
  AgentStreams(const topology::Fabric& fabric, const topology::AddressBook& addresses, Welcome welcome,
               TrafficOutputs* outputs);

  Sender FindSender(StreamId stream) const;
  // Empty: none.
  std::string FindFault(const HostHello& hello) const;
  // Welcomes the agent of a host, and ends its earlier stream. Args: hello: without a fault; host: that it names.
  void Bind(StreamId stream, HostId host, const HostHello& hello, SimTime clock);
  void Hear(HostId host, SimTime clock) { agents_[host].last_message = clock; }
  void Hear(HostId host, const Heartbeat& heartbeat);
  void Refuse(StreamId stream, std::string reason);
  // A second hello on the same stream: the identity of the other end is in doubt. Args: host: connected.
  void RefuseSecondHello(HostId host);
  // Returns the host that is without a stream now; nothing: it was another's, or nobody's.
  std::optional<HostId> End(StreamId stream);

  bool IsConnected(HostId host) const { return agents_[host].stream.has_value(); }
  const Agent& agent(HostId host) const { return agents_[host]; }
  size_t num_hosts() const { return agents_.size(); }
  // After which what a silent host holds is given to others.
  SimDuration lease_ttl() const { return welcome_.lease_ttl; }

  // Dropped without a stream.
  void SendTo(HostId host, ToAgent message);
  // Dropped when the stream was closed since the question.
  void Answer(StreamId stream, ToAgent message);
  // What is found about a host has changed.
  void Judge(HostId host, const HostJudged& judged);
  // Also where nothing is: an earlier controller may have found something.
  void RepeatJudgement(HostId host) { SendTo(host, agents_[host].judged); }

 private:
  void Say(StreamId stream, ToAgent message);
  void Close(StreamId stream);

  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
  const Welcome welcome_;
  TrafficOutputs* outputs_;
  std::map<StreamId, Sender> streams_;
  IdVector<HostId, Agent> agents_;
};

}  // namespace fairlead::controller
