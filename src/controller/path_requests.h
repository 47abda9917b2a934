// Questions of agents for paths, from PathsWanted to PathsAnswered.
//
// Method      what an agent asks for is translated; what cannot be meant is answered at once, with the reason, beside
//             what the path service says of the rest. Where nothing is left to ask it, the answer goes out now.
// Guarantees  each question has one answer, unless its stream ends first or the path service rejects all of it. What
//             is granted is in the table before the agent hears of it.
// Cost        O(connections of the question + log of questions).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "controller/agent_streams.h"
#include "controller/agent_words.h"
#include "controller/host_messages.h"
#include "controller/job_table.h"
#include "controller/path_batch.h"
#include "controller/traffic_outputs.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

class PathRequests {
 public:
  // The references must outlive this.
  PathRequests(AgentWords words, JobTable* jobs, AgentStreams* streams, PathBatch* batch, TrafficOutputs* outputs)
      : words_(words), jobs_(jobs), streams_(streams), batch_(batch), outputs_(outputs) {}

  // Returns the job that the path service is asked about; nothing: the answer is given. Args: host: connected.
  std::optional<JobId> Ask(HostId host, const PathsWanted& message);
  // Questions of the batch are about to be answered. Returns the jobs they are about, which they no longer keep.
  std::vector<JobId> BeginAnswers();
  void Answer(traffic::PathsGranted& action);
  // What has no answer now has been rejected as a whole.
  void EndAnswers() { asked_.clear(); }

 private:
  struct Request {
    StreamId stream;
    JobId job;
    PathsAnswered answer;                                 // with errors that need no request
    std::vector<size_t> places;                           // [connection that the service is asked for] -> of the answer
    std::vector<traffic::ConnectionRequest> connections;  // likewise
  };

  const AgentWords words_;
  JobTable* jobs_;
  AgentStreams* streams_;
  PathBatch* batch_;
  TrafficOutputs* outputs_;
  std::map<uint64_t, Request> asked_;  // in the present batch
  uint64_t num_requests_ = 0;
};

}  // namespace fairlead::controller
