// Probes that the controller wants of this host: ordered piece by piece, reported whole.
//
//     ProbesWanted --> ProbeSchedule --> ProbePorts (a piece) --> ProbesDone --+--> ProbesFinished, of a search at once
//                                                                              +--> ProbesFinished, of a whole round
//
// Problem     the controller wants rounds, and counts one answer for each. They are sent in pieces, so that a search
//             for the port of a process that waits need not wait for a round.
// Method      which piece is next, and when, is the schedule's. Results of a round are put together again as pieces end
//             (pieces of one scan follow one another); what is seen of a search is reported at once, because the port
//             that a process waits for may be in its first piece.
// Guarantees  only TCP probes from training NICs of this host are sent. A round is reported once, with its last piece,
//             if the stream on which it was wanted lasts so long; one without probes at once. One order of each urgency
//             is under way at most.
// Cost        O(probes).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/host_agent_messages.h"
#include "agent/probe_schedule.h"
#include "agent/training_addresses.h"
#include "base/sim_time.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

class ProbeDispatcher {
 public:
  // The pointers must outlive this.
  ProbeDispatcher(const ProbeScheduleOptions& options, const TrainingAddresses* addresses, AgentOutbox* outbox)
      : addresses_(*addresses), outbox_(*outbox), schedule_(options, outbox->now()) {}

  void Take(const controller::ProbesWanted& message);
  // Orders what may be sent now.
  void SendDue();
  void Take(const ProbesDone& event);
  // The stream has ended: the next controller does not know of what this one wanted.
  void Forget();
  // When SendDue() would do something; Never(): not by time.
  SimTime NextDue() const { return schedule_.NextDue(); }

 private:
  const TrainingAddresses& addresses_;
  AgentOutbox& outbox_;
  ProbeSchedule schedule_;
  std::map<uint64_t, std::vector<controller::PortScanSeen>> rounds_;  // under way
};

}  // namespace fairlead::agent
