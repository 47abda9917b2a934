// What the changes of one call ask the C4P master to do again.
//
// Problem     a call may bring many changes of links, and announcements of what holders use. To replan after each of
//             them would move queue pairs back and forth, and look through all of them again and again.
// Method      changes are noted, and what they ask for is taken once, after all of them:
//               any change                        paths over lost links are left
//               a link can carry more             those without a path, or off their plane, are tried again
//               a link went or came               leaves hash over other next hops: ports may lead elsewhere
//               a first choice carries more, less overloaded links shed queue pairs, for that cause
//               an adopted queue pair             may be on a lost link; one without a path is tried
// Guarantees  nothing is asked for without a change since the last Take(). Of several causes to balance a link that is
//             back is the one that is told.
#pragma once

#include <optional>
#include <utility>

#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

// Beside leaving paths that are lost.
struct ReplanSteps {
  bool try_again = false;    // those without a path, or off their plane
  bool check_ports = false;  // those with other next hops on their way
  std::optional<MoveCause> balance_for;
};

class ReplanAgenda {
 public:
  // Another share of a link's capacity can be used. Args: before != after, 0 = the link carries nothing;
  // is_first_choice: as it is now.
  void NoteHealth(double before, double after, bool is_first_choice);
  void NoteAdopted(bool has_path);

  // Nothing: no need to replan.
  std::optional<ReplanSteps> Take() { return std::exchange(steps_, std::nullopt); }

 private:
  std::optional<ReplanSteps> steps_;
};

}  // namespace fairlead::traffic::c4p
