// What the senders of a job do by themselves between two plans: how hard they push where flows meet, at which pace they
// send, and when they look for another path.
//
// A plan gives them these rules once; they follow them at each event of their own, without asking anybody. Where no
// rule is given all flows push alike, send as fast as they can and stay on their paths.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "model/path.h"

namespace fairlead::traffic {

// A flow's weight in the sharing of links grows with what it has sent: F(r) = slope * r + intercept, r in [0, 1].
// Reference  MLTCP, arXiv 2402.09589.
struct Aggressiveness {
  double slope = 1.75;       // >= 0
  double intercept = 0.25;   // > 0
  bool counts_job = false;   // r is of all bytes of the job's iteration instead of the flow's own
  SimDuration most_between;  // weights are renewed at least this often, > 0

  friend bool operator==(const Aggressiveness&, const Aggressiveness&) = default;
};

// At which rates the flows of a coflow (the transfers of one phase of a job) are sent.
enum class Pacing : uint8_t {
  kNone,             // as fast as links and levels allow
  kMadd,             // so that all end together with the one that lasts longest
  kMaddAndBackfill,  // the same, and what no job needs then is shared out in the same order
};

// A job's place in the order in which coflows choose their rates.
// Reference  Chowdhury et al., Varys, SIGCOMM 2014: minimum allocation for desired duration (MADD).
struct CoflowTurn {
  Pacing pacing = Pacing::kMaddAndBackfill;
  uint32_t group = 0;  // jobs of a group choose in order; the next group has what the whole group leaves
  uint32_t rank = 0;   // inside the group, 0 chooses first

  friend bool operator==(const CoflowTurn&, const CoflowTurn&) = default;
};

// How the switch behind a NIC chooses among the paths of a flow.
enum class PathRule : uint8_t {
  kLetflow,  // uniformly at random
  kConga,    // the one whose fullest link is the emptiest
  kSglb,     // a hash among the four with the fewest flows; a flow on one of them stays
};

// Which path each flow takes, decided by load while it runs (sim/flowlet_chooser.h).
struct PathChoice {
  static constexpr SimDuration kNever = SimDuration(1'000'000'000'000);  // so long a silence does not come

  PathRule rule = PathRule::kConga;
  SimDuration gap;    // a block that begins after so long a silence chooses
  SimDuration remap;  // flows that send choose so often; 0: they don't
  uint64_t seed = 0;
  std::vector<model::Path> candidates = {};  // [flow] bundles (path_bundle.h) of one part for each path

  friend bool operator==(const PathChoice&, const PathChoice&) = default;
};

struct SenderRules {
  std::optional<Aggressiveness> aggressiveness = {};
  std::optional<CoflowTurn> turn = {};
  std::optional<PathChoice> choice = {};

  friend bool operator==(const SenderRules&, const SenderRules&) = default;
};

}  // namespace fairlead::traffic
