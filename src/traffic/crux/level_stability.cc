#include "traffic/crux/level_stability.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/disjoint_sets.h"

namespace fairlead::traffic::crux {
namespace {

// Of one connected component.
struct Component {
  bool can_stay = true;
  double weight = 0;
  double loss_in_force = 0;
  double loss_of_new = 0;
  double variance = 0;  // of the difference of both
};

}  // namespace

void KeepLevelsInForce(const ContentionDag& dag, std::span<const std::optional<uint32_t>> in_force,
                       std::span<const double> uncertainties, uint32_t num_levels, double hysteresis,
                       std::vector<uint32_t>* levels) {
  FL_CHECK(in_force.size() == dag.num_jobs && levels->size() == dag.num_jobs && hysteresis >= 0);
  FL_CHECK(uncertainties.size() == dag.num_jobs);
  DisjointSets sets(dag.num_jobs);
  size_t num_sets = dag.num_jobs;
  for (size_t e = 0; e < dag.edges.size() && num_sets > 1; ++e) {
    if (sets.Join(dag.edges[e].upper, dag.edges[e].lower)) --num_sets;
  }
  std::vector<Component> components(dag.num_jobs);  // at the set's root
  for (uint32_t rank = 0; rank < dag.num_jobs; ++rank) {
    components[sets.Find(rank)].can_stay &= in_force[rank].has_value() && *in_force[rank] < num_levels;
  }
  std::vector<double> differences(dag.num_jobs);  // [upper rank] of what levels in force and new ones lose
  std::vector<uint32_t> roots(dag.num_jobs);
  for (uint32_t rank = 0; rank < dag.num_jobs; ++rank) roots[rank] = sets.Find(rank);
  for (const Edge& edge : dag.edges) {
    Component& component = components[roots[edge.upper]];
    component.weight += edge.weight;
    const double loss_of_new = (*levels)[edge.upper] == (*levels)[edge.lower] ? edge.weight : 0;
    component.loss_of_new += loss_of_new;
    if (!component.can_stay) continue;
    component.can_stay = *in_force[edge.upper] <= *in_force[edge.lower];
    const double loss_in_force = *in_force[edge.upper] == *in_force[edge.lower] ? edge.weight : 0;
    component.loss_in_force += loss_in_force;
    differences[edge.upper] += loss_in_force - loss_of_new;
  }
  for (uint32_t rank = 0; rank < dag.num_jobs; ++rank) {
    const double uncertain = differences[rank] * uncertainties[rank];
    components[sets.Find(rank)].variance += uncertain * uncertain;
  }
  for (uint32_t rank = 0; rank < dag.num_jobs; ++rank) {
    const Component& component = components[sets.Find(rank)];
    const double allowed =
        component.loss_of_new + std::max(hysteresis * component.weight, std::sqrt(component.variance));
    if (component.can_stay && component.loss_in_force <= allowed) (*levels)[rank] = *in_force[rank];
  }
}

}  // namespace fairlead::traffic::crux
