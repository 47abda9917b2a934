// Localises operations that all ranks have started and some never finish: on whom or on what does their data wait?
//
// Notation    edge i -> j: i waits for j
// Method      every connection of the communicator with a message under way says whom its rank waits for:
//               sender waits for the receiver's buffer      i -> j
//               sent, not completed                         i -> link(i, j)
//               receive posted, no data                     j -> i
//               waiting for its own GPU (or flushing)       self
//             A rank's GPU waits itself for what has not arrived, so self counts only where the rank waits for no
//             other. Where its data comes from another GPU of the host, of which nothing is seen, it counts little.
//             Ranks that wait for each other in a circle are one; the ranks reachable from there are what they wait
//             for. Of a circle in which several wait for their GPUs, those are named whose host has received data that
//             it does not pass on although no peer prevents it. Links outrank GPUs, as an intermediate hop that is out
//             of sight (NVLink) looks like a GPU.
// Cost        O(ranks + connections) of the communicator; of a circle, times its ranks.
// Guarantees  relabelling ranks relabels the answer.
// Differs     a message that the sender has not seen completed although the receiver has taken everything that is under
//             way is no stuck link: the sender does not look any more. A buffer that is posted while the sender waits
//             for one is a lost message. Of the two, the one that has lost messages with more ranks is frozen, whatever
//             it reports to be on the wire, and the receiver if neither has; of two ranks alone either may be. If it
//             has itself posted buffers for several that did not learn of them, it is not frozen: these messages are
//             stuck on links, from the receiver to the sender. A rank of which a report is missing that could contain
//             more is considered last: its connections may be out of date. Over sockets data leaves before its receiver
//             has come to it: links to a receiver without a buffer count only where no other is stuck.
// Limits      rings that pass through several GPUs of a host: hops inside of the host are out of sight.
// Reference   docs/spec/c4.md section 4.2.
#pragma once

#include <vector>

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/stuck_element.h"
#include "diagnosis/c4d/wait_graph.h"

namespace fairlead::diagnosis::c4d {

// Where the data of operations is stuck.
struct StuckData {
  std::vector<StuckLink> links;       // ascending
  std::vector<model::RankId> gpus;    // whose GPU does not continue, ascending
  std::vector<model::RankId> relays;  // likewise, but they may wait for another GPU of their host, ascending
  std::vector<model::RankId> absent;  // that others wait for and that show nothing under way, ascending
  std::vector<model::RankId> unsure;  // at which the waiting ends, but of which reports are missing, ascending
  // Whether any suspect is certain.
  bool is_certain() const { return !links.empty() || !gpus.empty(); }

  bool has_connections = false;  // whether any message was under way
};

// Args: ranks that are inside of the operations or may be, of that communicator, each once.
StuckData FindStuckData(const JobPicture& picture, model::CommunicatorId communicator,
                        const std::vector<model::RankId>& ranks, const WaitGraphQuery& query);

}  // namespace fairlead::diagnosis::c4d
