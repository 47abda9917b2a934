#include "diagnosis/c4d/slow_elements.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "diagnosis/c4d/dense_numbers.h"

namespace fairlead::diagnosis::c4d {

namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// Ranks without a NIC of their own count as NICs after all that are known.
uint64_t NicKey(const model::RankPlace& place, size_t rank) {
  return place.nic.valid() ? uint64_t{place.nic.value()} : (uint64_t{1} << 32) + rank;
}

}  // namespace

NetworkElements::NetworkElements(const model::JobLayout& layout) : layout_(layout) {
  DenseNumbers<uint64_t> nics;
  DenseNumbers<HostId> hosts;
  DenseNumbers<model::LeafId> leaves;
  size_t num_planes = 1;
  std::vector<uint32_t> first_host;  // [leaf]
  for (size_t rank = 0; rank < layout.ranks.size(); ++rank) {
    const model::RankPlace& place = layout.ranks[rank];
    nic_of_.push_back(nics.Of(NicKey(place, rank)));
    host_of_.push_back(hosts.Of(place.host));
    auto& own = leaves_of_.emplace_back();
    for (const model::LeafId id : place.leaves) {
      const uint32_t leaf = leaves.Of(id);
      own.push_back(leaf);
      if (leaf == first_host.size()) {
        first_host.push_back(host_of_.back());
        has_several_hosts_.push_back(false);
      }
      if (first_host[leaf] != host_of_.back()) has_several_hosts_[leaf] = true;
    }
    num_planes = std::max(num_planes, place.leaves.size());
  }
  num_elements_[kNicSend] = num_elements_[kNicReceive] = num_elements_[kNic] = nics.size();
  num_elements_[kHost] = hosts.size();
  num_elements_[kLeaf] = leaves.size();
  num_elements_[kPlane] = static_cast<uint32_t>(num_planes);
}

void NetworkElements::Elements::Add(Kind kind, uint32_t index) {
  if (!Has({kind, index})) items[size++] = {kind, index};
}

bool NetworkElements::Elements::Has(Element element) const {
  return std::find(items.begin(), items.begin() + size, element) != items.begin() + size;
}

uint32_t NetworkElements::LeafOf(model::RankId rank, uint32_t plane) const {
  const auto& leaves = leaves_of_[rank.index()];
  return plane < leaves.size() ? leaves[plane] : kNone;
}

NetworkElements::Elements NetworkElements::ElementsOf(const Transfer& transfer, uint32_t pair) const {
  const size_t from = transfer.source.index();
  const size_t to = transfer.destination.index();
  Elements elements;
  elements.Add(kConnection, pair);
  elements.Add(kNicSend, nic_of_[from]);
  elements.Add(kNicReceive, nic_of_[to]);
  elements.Add(kNic, nic_of_[from]);
  elements.Add(kNic, nic_of_[to]);
  elements.Add(kHost, host_of_[from]);
  elements.Add(kHost, host_of_[to]);
  for (const model::RankId end : {transfer.source, transfer.destination}) {
    const uint32_t leaf = LeafOf(end, transfer.plane);
    if (leaf != kNone) elements.Add(kLeaf, leaf);
  }
  if (transfer.plane < num_elements_[kPlane]) elements.Add(kPlane, transfer.plane);
  return elements;
}

int NetworkElements::Preference(Element element) const {
  if (element.kind == kLeaf && has_several_hosts_[element.index]) return 2 * kHost - 1;
  return 2 * element.kind;
}

std::vector<NetworkElements::Element> NetworkElements::FindEquals(const Tallies& tallies,
                                                                  std::span<const Elements> slow,
                                                                  Element element) const {
  std::vector<Element> equals;
  bool is_first = true;
  for (const Elements& elements : slow) {
    if (!elements.Has(element)) continue;
    if (is_first) equals.assign(elements.items.begin(), elements.items.begin() + elements.size);
    is_first = false;
    std::erase_if(equals, [&](const Element& e) { return !elements.Has(e); });
  }
  const int64_t score = tallies[element.kind][element.index].score();
  std::erase_if(equals, [&](const Element& e) { return tallies[e.kind][e.index].score() != score; });
  return equals;
}

NetworkElements::Element NetworkElements::FindBest(const Tallies& tallies, std::span<const Elements> slow) const {
  Element best = slow.front().items.front();
  for (const Elements& elements : slow) {
    for (const Element& element : std::span(elements.items).first(elements.size)) {
      const int64_t score = tallies[element.kind][element.index].score();
      const int64_t best_score = tallies[best.kind][best.index].score();
      if (score > best_score || (score == best_score && element < best)) best = element;
    }
  }
  std::vector<Element> equals = FindEquals(tallies, slow, best);
  std::sort(equals.begin(), equals.end(), [this](const Element& a, const Element& b) {
    return std::make_pair(Preference(a), a) < std::make_pair(Preference(b), b);
  });
  for (const Element& element : equals) {
    const auto of_kind =
        std::count_if(equals.begin(), equals.end(), [element](const Element& e) { return e.kind == element.kind; });
    if (of_kind == 1) return element;
  }
  const auto example = std::find_if(slow.begin(), slow.end(), [best](const Elements& e) { return e.Has(best); });
  return example->items.front();
}

model::Culprit NetworkElements::CulpritOf(Element element, const Transfer& example) const {
  const auto& from = layout_.ranks[example.source.index()];
  const auto& to = layout_.ranks[example.destination.index()];
  const auto nic_side = [&](model::CulpritKind kind, bool is_source) {
    const model::RankPlace& place = is_source ? from : to;
    model::Culprit culprit{
        .kind = kind, .rank = {}, .peer = {}, .host = place.host, .nic = place.nic, .leaf = {}, .plane = {}};
    // A NIC that has no id is known by its rank.
    if (!place.nic.valid()) culprit.rank = is_source ? example.source : example.destination;
    return culprit;
  };
  model::Culprit culprit;
  switch (element.kind) {
    case kConnection:
      culprit.kind = model::CulpritKind::kConnection;
      culprit.rank = example.source;
      culprit.peer = example.destination;
      break;
    case kNicSend:
      return nic_side(model::CulpritKind::kNicSend, true);
    case kNicReceive:
      return nic_side(model::CulpritKind::kNicReceive, false);
    case kNic:
      return nic_side(model::CulpritKind::kNic, nic_of_[example.source.index()] == element.index);
    case kHost:
      culprit.kind = model::CulpritKind::kHost;
      culprit.host = host_of_[example.source.index()] == element.index ? from.host : to.host;
      break;
    case kLeaf:
      culprit.kind = model::CulpritKind::kLeaf;
      culprit.leaf = LeafOf(example.source, example.plane) == element.index ? from.leaves[example.plane]
                                                                            : to.leaves[example.plane];
      break;
    default:
      culprit.kind = model::CulpritKind::kPlane;
      culprit.plane = example.plane;
  }
  return culprit;
}

std::vector<SlowElement> NetworkElements::Explain(std::span<const Transfer> transfers) const {
  std::vector<uint32_t> slow;           // indices of transfers not yet explained
  std::vector<Elements> slow_elements;  // [slow]
  Tallies tallies;
  for (size_t kind = 1; kind < kNumKinds; ++kind) tallies[kind].resize(num_elements_[kind]);
  for (uint32_t i = 0; i < transfers.size(); ++i) {
    const Transfer& transfer = transfers[i];
    const bool is_new_pair =
        i == 0 || transfer.source != transfers[i - 1].source || transfer.destination != transfers[i - 1].destination;
    if (is_new_pair) tallies[kConnection].emplace_back();
    if (transfer.health == TransferHealth::kUnclear) continue;
    const Elements elements = ElementsOf(transfer, static_cast<uint32_t>(tallies[kConnection].size() - 1));
    const bool is_slow = transfer.health == TransferHealth::kSlow;
    for (size_t e = 0; e < elements.size; ++e) {
      Tally& tally = tallies[elements.items[e].kind][elements.items[e].index];
      ++(is_slow ? tally.hits : tally.misses);
    }
    if (!is_slow) continue;
    slow.push_back(i);
    slow_elements.push_back(elements);
  }
  std::vector<SlowElement> found;
  while (!slow.empty()) {
    const Element best = FindBest(tallies, slow_elements);
    const Tally tally = tallies[best.kind][best.index];
    SlowElement element{.culprit = {}, .transfers = {}, .hits = tally.hits, .misses = tally.misses};
    size_t kept = 0;
    for (size_t i = 0; i < slow.size(); ++i) {
      const Elements& passed = slow_elements[i];
      if (passed.Has(best)) {
        element.transfers.push_back(slow[i]);
        for (const Element& e : std::span(passed.items).first(passed.size)) --tallies[e.kind][e.index].hits;
        continue;
      }
      slow[kept] = slow[i];
      slow_elements[kept++] = passed;
    }
    slow.resize(kept);
    slow_elements.resize(kept);
    element.culprit = CulpritOf(best, transfers[element.transfers.front()]);
    found.push_back(std::move(element));
  }
  return found;
}

}  // namespace fairlead::diagnosis::c4d
