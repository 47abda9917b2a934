// What the diagnosis should say about a planted fault: the ground truth that its findings are judged by.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "execution/fault.h"
#include "execution/job_shape.h"
#include "model/finding.h"

namespace fairlead::execution {

struct ExpectedFinding {
  // Any of these is right. Empty: nobody is at fault, and no finding may be confirmed.
  std::vector<model::Syndrome> syndromes;
  // A right finding names some of these and nobody else; the most precise first.
  std::vector<model::Culprit> culprits;
  // Whether silence is wrong, too. A short stall may pass unnoticed.
  bool is_required = true;
};

// `fault` must be valid for `shape`, and `layout` be that of `shape`. Of a fault that has acted.
ExpectedFinding ExpectFinding(const Fault& fault, const JobShape& shape, const model::JobLayout& layout);

// Whether the syndrome is right and all culprits are.
bool Accepts(const ExpectedFinding& expected, const model::Finding& finding);

// Pairs of ranks that messages of the job pass between over the network, ascending, each once.
struct NetworkPair {
  model::RankId source;
  model::RankId destination;

  friend auto operator<=>(const NetworkPair&, const NetworkPair&) = default;
};
std::vector<NetworkPair> NetworkPairs(const JobShape& shape, const model::JobLayout& layout);

// A fault of this kind in a place where the job feels it, of a strength that matters. Nothing: the job has no such
// place, for example no connection on the network.
std::optional<Fault> DrawFault(FaultKind kind, const JobShape& shape, const model::JobLayout& layout, SimTime begin,
                               Random& random);

}  // namespace fairlead::execution
