// Sockets of training processes that this host did not open: accepted here, or opened while no agent was there to be
// asked. They get the traffic class of their job, and those that turn out to send are handed over to be steered.
//
// Unasked     the kernel's list shows sockets that no process has asked about. Their owners are looked up once, by
//             going through all processes: at most each second, and for a twentieth of the time.
// Cost        a look at all sockets: O(n), n: sockets of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/agent_state.h"
#include "agent/host_agent_messages.h"
#include "agent/job_levels.h"

namespace fairlead::agent {

class AcceptedSockets {
 public:
  using ByInode = std::unordered_map<uint64_t, const SeenSocket*>;

  struct Accepted {
    KeptAccepted kept;
    SimTime since;
    std::optional<uint8_t> traffic_class;  // nothing: not known to be set
  };

  // The pointers must outlive this. Args: num_max: more are left alone.
  AcceptedSockets(uint32_t num_max, const JobLevels* levels, AgentOutbox* outbox)
      : num_max_(num_max), levels_(*levels), outbox_(*outbox) {}

  void Restore(std::span<const KeptAccepted> kept);
  std::vector<KeptAccepted> State() const;

  void Add(const KeptAccepted& kept);
  // Its process opens another connection with it.
  void Remove(uint64_t inode);
  bool HasSocketsOf(const std::string& job) const;
  void ClassifyJob(const std::string& job);

  // Args: hold: takes over a socket that sends, or returns false.
  void Look(SimTime asked_at, const ByInode& sockets,
            const std::function<bool(const Accepted& accepted, const SocketPair& ends)>& hold);
  // Args: opened: inodes of those that are steered; may_steer: between training NICs, as far as is known.
  void LookForOwners(const SocketsSeen& event, const std::unordered_set<uint64_t>& opened,
                     const std::function<bool(const SocketPair& ends)>& may_steer);
  void TakeOwners(const OwnersFound& event);

 private:
  void Classify(Accepted* accepted);

  uint32_t num_max_;
  const JobLevels& levels_;
  AgentOutbox& outbox_;
  std::map<uint64_t, Accepted> sockets_;     // by inode
  std::map<uint64_t, bool> unasked_;         // sockets that no process has asked about, by inode: is it of IPv6
  std::optional<SimTime> owners_wanted_at_;  // while their owners are looked up
  SimTime next_look_for_owners_;
};

}  // namespace fairlead::agent
