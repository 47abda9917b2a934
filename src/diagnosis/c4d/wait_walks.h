// Where do the waits end that a job hangs in?
//
// Method      from each operation that is stuck, along the waits (wait_graph.h), to ranks and operations that wait for
//             nothing else, and to circles. Operations that all have started are looked into (stuck_graph.h). Then what
//             another end explains is left out.
// Cost        O(ranks + connections + pending operations).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/stuck_graph.h"
#include "diagnosis/c4d/wait_graph.h"

namespace fairlead::diagnosis::c4d {

struct WaitEnds {
  std::vector<model::RankId> gone;                    // with their hosts
  std::vector<model::RankId> left;                    // without an error
  bool has_ended = false;                             // a process, with an error or without
  std::vector<model::RankId> stopped;                 // by a signal or a debugger
  std::vector<model::RankId> absent;                  // they have not begun what others wait in
  std::set<model::RankId> unseen;                     // that may be the cause, for all that is missing of their reports
  std::vector<const PendingOperation*> stuck;         // all have started
  std::vector<const PendingOperation*> out_of_sight;  // of them: nothing under way on the network
  std::vector<StuckLink> links;
  std::set<model::RankId> gpus;
  std::set<model::RankId> relays;
  std::vector<std::vector<uint32_t>> cycles;  // of nodes of the graph
};

// Args: hindrances [rank]; graph: of the same picture. It gets the waits that what connections tell makes certain, and
// must outlive what is returned.
WaitEnds FollowWaits(const JobPicture& picture, const Hindrances& hindrances, const WaitGraphQuery& query,
                     WaitGraph* graph);

}  // namespace fairlead::diagnosis::c4d
