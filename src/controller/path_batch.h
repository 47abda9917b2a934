// What the path service is told with its next call: inputs of many hosts together.
//
// Problem     a call for each message would cost a batch of placements for each. But a word that looks at what came of
//             earlier ones (a socket opened, a measurement) must wait for those of the same host.
// Method      events are gathered until somebody has to wait. They are passed on in three parts: releases, so that what
//             was given up can be given to others; questions and reports, in their order; ports of sockets, which would
//             part requests that are placed together.
// Guarantees  of one host, what was released is released before what was asked for later: whoever releases has seen to
//             it that nothing of the host is waiting (IsWaiting).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "controller/job_table.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

class PathBatch {
 public:
  struct Events {
    std::vector<traffic::PathEvent> all;
    size_t first_question = 0;  // place of the event that Add numbered 0
  };

  explicit PathBatch(size_t num_hosts) : added_in_(num_hosts, 0) {}

  // Args: connections: empty: all of the job on this host.
  void Release(HostId host, JobId job, std::vector<uint64_t> connections) {
    releases_.emplace_back(
        traffic::ConnectionsReleased{.host = host, .job = job, .connections = std::move(connections)});
  }
  // Returns its number among those that were added since the last Take.
  size_t Add(traffic::PathEvent event) {
    questions_.push_back(std::move(event));
    return questions_.size() - 1;
  }
  // Later words of the host may have to wait for it.
  void AddOf(HostId host, traffic::PathEvent event) {
    added_in_[host] = num_taken_ + 1;
    Add(std::move(event));
  }
  // Packets of a queue pair carry this port. 0: nothing is known.
  void AddPort(const QueuePairKey& key, HostId host, uint16_t port, uint16_t socket_port) {
    if (port == 0) return;
    ports_.emplace_back(traffic::QueuePairOpened{.host = host,
                                                 .job = key.job,
                                                 .connection = key.connection,
                                                 .queue_pair = key.queue_pair,
                                                 .port = port,
                                                 .socket_port = socket_port});
  }

  bool IsWaiting(HostId host) const { return added_in_[host] == num_taken_ + 1; }
  bool has_questions() const { return !questions_.empty(); }

  Events Take();

 private:
  std::vector<traffic::PathEvent> releases_;
  std::vector<traffic::PathEvent> questions_;
  std::vector<traffic::PathEvent> ports_;
  IdVector<HostId, uint64_t> added_in_;  // the Take that has the last word of the host
  uint64_t num_taken_ = 0;
};

}  // namespace fairlead::controller
