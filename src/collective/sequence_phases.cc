#include "collective/sequence_phases.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace fairlead::collective {
namespace {

constexpr double kWaitShare = 1e-6;
constexpr double kNever = std::numeric_limits<double>::infinity();

// In the order of phases that start together: a wait ends what came before, and blocking ones go first.
enum class Class : uint8_t { kWait, kBlocking, kAwaited, kTail };

// Collectives that become one phase. Times in seconds of the compute clock.
struct Bundle {
  SequencePhase phase;
  Class type = Class::kBlocking;
  double weighted_start = 0;  // sum of bytes * start
  double covered_until = 0;   // awaited: the union of [t, t + o) so far ends here
  double covered = 0;         // and is this long
  double start = 0;
  double end = 0;  // when something waits; kNever
};

Class ClassOf(const SequenceStep& step, double start, double total) {
  if (step.overlap <= Seconds(0)) return Class::kBlocking;
  return start + step.overlap.value() < total ? Class::kAwaited : Class::kTail;
}

void AddTo(Bundle& bundle, const SequenceStep& step, double start) {
  const double end = start + step.overlap.value();
  bundle.phase.bytes += step.bytes;
  ++bundle.phase.num_collectives;
  bundle.weighted_start += step.bytes.value() * start;
  if (bundle.type != Class::kAwaited) return;
  bundle.covered += std::max(0.0, end - std::max(start, bundle.covered_until));
  bundle.covered_until = std::max(bundle.covered_until, end);
  bundle.end = bundle.covered_until;
}

uint64_t WindowOf(double start, double total, size_t step_index, uint32_t num_rounds) {
  if (num_rounds == 0) return step_index;
  if (total <= 0) return 0;
  return std::min<uint64_t>(num_rounds - 1, static_cast<uint64_t>(start / total * num_rounds));
}

// Step 1. Bundles in order of window, then of group and kind.
std::vector<Bundle> BundleSteps(const std::vector<SequenceStep>& steps, double total, uint32_t num_rounds) {
  using Key = std::tuple<uint64_t, Class, StepGroup, CollectiveKind, bool>;
  std::map<Key, Bundle> bundles;
  double start = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const SequenceStep& step = steps[i];
    start += step.compute.value();
    if (step.bytes <= Bytes(0)) continue;
    const Class type = ClassOf(step, start, total);
    const bool is_forward = step.pass == TrainingPass::kForward;
    const auto [entry, is_new] =
        bundles.try_emplace(Key{WindowOf(start, total, i, num_rounds), type, step.group, step.kind, is_forward});
    Bundle& bundle = entry->second;
    if (is_new) {
      bundle.phase = {.group = step.group, .kind = step.kind, .pass = step.pass, .bytes = Bytes(0)};
      bundle.type = type;
      bundle.end = type == Class::kTail ? kNever : 0;
    }
    AddTo(bundle, step, start);
  }
  std::vector<Bundle> result;
  result.reserve(bundles.size());
  for (const auto& [key, bundle] : bundles) result.push_back(bundle);
  return result;
}

// Step 2.
void SetStarts(std::vector<Bundle>& bundles) {
  for (Bundle& bundle : bundles) {
    const bool awaited = bundle.type == Class::kAwaited;
    bundle.start = awaited ? bundle.end - bundle.covered : bundle.weighted_start / bundle.phase.bytes.value();
  }
}

// The bundles of one type, by start.
std::vector<Bundle*> OfType(std::vector<Bundle>& bundles, Class type) {
  std::vector<Bundle*> result;
  for (Bundle& bundle : bundles) {
    if (bundle.type == type) result.push_back(&bundle);
  }
  std::stable_sort(result.begin(), result.end(), [](auto* a, auto* b) { return a->start < b->start; });
  return result;
}

// Step 3a. One that would have no time left beside compute blocks it.
void LineUpAwaited(std::vector<Bundle>& bundles) {
  double reach = 0;
  for (Bundle* bundle : OfType(bundles, Class::kAwaited)) {
    bundle->start = std::max(bundle->start, reach);
    reach = std::max(reach, bundle->end);
    if (bundle->end <= bundle->start) bundle->type = Class::kBlocking;
  }
}

// Step 3b. In order of their starts: a tail moved behind one may then lie in the next.
void MoveTailsBehindAwaited(std::vector<Bundle>& bundles) {
  const std::vector<Bundle*> awaited = OfType(bundles, Class::kAwaited);
  for (Bundle& bundle : bundles) {
    if (bundle.type != Class::kTail) continue;
    for (const Bundle* other : awaited) {
      if (other->start <= bundle.start && bundle.start < other->end) bundle.start = other->end;
    }
  }
}

// Step 3c. What runs beside compute is walked from the last to the first: a blocking phase moved before one may then
// lie in an earlier one.
void MoveBlockingAhead(std::vector<Bundle>& bundles) {
  std::vector<Bundle*> beside = OfType(bundles, Class::kTail);
  const std::vector<Bundle*> awaited = OfType(bundles, Class::kAwaited);
  beside.insert(beside.end(), awaited.begin(), awaited.end());
  std::stable_sort(beside.begin(), beside.end(), [](auto* a, auto* b) { return a->start > b->start; });
  for (Bundle& bundle : bundles) {
    if (bundle.type != Class::kBlocking) continue;
    const auto holds = [&](const Bundle* other) { return other->start < bundle.start && bundle.start < other->end; };
    const bool waits_for_own = std::any_of(beside.begin(), beside.end(), [&](const Bundle* other) {
      return holds(other) && other->phase.group == bundle.phase.group;
    });
    if (waits_for_own) continue;
    for (const Bundle* other : beside) {
      if (holds(other)) bundle.start = other->start;
    }
  }
}

// Step 4: splits what is waited for.
void AddWaits(std::vector<Bundle>& bundles) {
  const size_t num_bundles = bundles.size();
  for (size_t i = 0; i < num_bundles; ++i) {
    if (bundles[i].type != Class::kAwaited) continue;
    Bundle wait = bundles[i];
    wait.type = Class::kWait;
    wait.start = wait.end;
    const double bytes = wait.phase.bytes.value();
    wait.phase.num_collectives = 0;
    wait.phase.bytes = Bytes(std::min(bytes / 2, std::max(1.0, bytes * kWaitShare)));
    bundles[i].phase.bytes -= wait.phase.bytes;
    bundles.push_back(wait);
  }
}

}  // namespace

SequencePhases PlanSequencePhases(const std::vector<SequenceStep>& steps, uint32_t num_rounds) {
  SequencePhases result;
  for (const SequenceStep& step : steps) result.compute += step.compute;
  const double total = result.compute.value();

  std::vector<Bundle> bundles = BundleSteps(steps, total, num_rounds);
  SetStarts(bundles);
  LineUpAwaited(bundles);
  MoveTailsBehindAwaited(bundles);
  MoveBlockingAhead(bundles);
  AddWaits(bundles);

  std::stable_sort(bundles.begin(), bundles.end(), [](const Bundle& a, const Bundle& b) {
    return std::tie(a.start, a.type) < std::tie(b.start, b.type);
  });
  result.phases.reserve(bundles.size());
  for (const Bundle& bundle : bundles) {
    SequencePhase phase = bundle.phase;
    phase.start_fraction = total > 0 ? std::clamp(bundle.start / total, 0.0, 1.0) : 0;
    phase.blocks_compute = bundle.type == Class::kBlocking || bundle.type == Class::kWait;
    result.phases.push_back(phase);
  }
  return result;
}

}  // namespace fairlead::collective
