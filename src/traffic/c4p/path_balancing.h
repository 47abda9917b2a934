// Evens out the loads of sibling links by moving queue pairs, a few at a time.
//
// Problem     placing one QP after the other can leave a link with more than its share, although an even placement
//             exists: the emptier uplink of this leaf leads to a spine whose downlink to the far leaf is full.
// Notation    a link is *overloaded* when its usage exceeds the fair one by what its lightest movable QP uses of a
//             healthy link, or more; it has *room* for a QP that does not make it so
// Method      links from the most used to the least. An overloaded one gives a QP away,
//               directly  to a path on which every link has room, or
//               by chain  f goes from spine i to spine j, although a link has no room there; one of the QPs on that
//                         link goes from j to i; and so on, until every link has room. Undone when it gets stuck.
//               at a cost to a path without room whose links stay below what this one has now: a slow uplink of a leaf
//                         gives away what it can't carry, although every spine is as full as is fair at the far leaf.
// Cost        QPs of a kind, between the same leaves, of one path and weight, are looked at once. O(QPs of the link +
//             their kinds * paths) per direct move; O(length of the chain * that) per chain.
// Guarantees  every step takes a QP from an overloaded link and overloads no other, or leaves all that it loads below
//             what that link had, relative to the fair usage. It ends: where steps go round, as they can with unequal
//             weights and health, after kMovesMax moves for each QP. Equal weights, two layers and all QPs movable: no
//             link is overloaded in the end (an alternating path of a bipartite graph ends where there is room).
// Oracle      path_allocator_test.cc: the rounded-up average of each leaf, on random demands and after random events.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "traffic/c4p/path_allocator.h"

namespace fairlead::traffic::c4p {

class PathBalancing {
 public:
  // Args: slots of `allocator` that may move.
  PathBalancing(PathAllocator* allocator, std::span<const uint32_t> movable);
  ~PathBalancing();
  PathBalancing(const PathBalancing&) = delete;
  PathBalancing& operator=(const PathBalancing&) = delete;

  // Returns those that are elsewhere now, ascending.
  std::vector<ReservationId> Run();

 private:
  using Choice = PathAllocator::Choice;

  struct Step {
    uint32_t slot = 0;
    Choice choice;  // to take, or to go back to
  };

  std::vector<LinkId> LinksByUsage() const;
  double FairUsage(LinkId link);
  double LightestOn(LinkId link) const;
  // What a usage must stay below, where the lightest QP is that light.
  double Limit(LinkId link, double weight);
  bool IsOverloaded(LinkId link);
  // Of the links that the QP would use and does not use now: none would be overloaded.
  bool HasRoom(uint32_t slot, Choice choice);
  bool HasRoom(LinkId link, double weight);
  bool Relieve(LinkId link);
  bool RelieveDirectly(LinkId link);
  bool RelieveByChain(LinkId link);
  bool RelieveAtACost(LinkId link);
  // Makes the move of a QP that fills the links of its new path least, of those that `allows(slot, choice)` and that
  // fill none as much as `bound`, relative to the fair usage.
  template <class Allows>
  bool MoveAway(LinkId link, double bound, bool take_first_slot, Allows allows);
  bool TryChain(uint32_t first, NodeId from_spine, NodeId to_spine);
  // The least used path of the QP over that spine; nothing where it has none.
  std::optional<Choice> PathOver(uint32_t slot, NodeId spine);
  // A QP on `link`, not in the chain yet, to go over `spine`; that which fills the links there least.
  std::optional<uint32_t> ChooseVictim(LinkId link, NodeId spine);
  // The greatest usage, relative to the fair one, on the links that the QP would use and does not use now.
  double UsageAfter(uint32_t slot, Choice choice);
  // QPs on the link that may move and are not part of a chain, ascending: the first of those between the same leaves, of
  // one path and weight. What can't be done with it can't be done with its like.
  std::vector<uint32_t> MovableKindsOn(LinkId link) const;
  void Move(uint32_t slot, Choice choice);
  void Undo();
  const LeafPaths& PathsOf(uint32_t slot) const;  // on its plane
  // Between the leaves. `choice` is on the plane of the QP.
  std::span<const LinkId> Middle(uint32_t slot, Choice choice) const;

  PathAllocator* allocator_;
  PathCatalogue* catalogue_;
  std::vector<uint32_t> movable_;
  std::vector<Choice> original_;  // [movable]
  std::vector<Step> steps_;       // of the chain that is under way
  // What a leaf sends up or gets down stays the same, however it is spread.
  std::unordered_map<NodeId, double> fair_up_;    // [leaf]
  std::unordered_map<NodeId, double> fair_down_;  // [leaf]
};

}  // namespace fairlead::traffic::c4p
