#include "traffic/sincronia/bssi_order.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace fairlead::traffic::sincronia {
namespace {

struct CoflowLoad {
  uint32_t coflow = 0;
  double seconds = 0;
};

// The load of a link at some moment; loads only fall, so an entry never promises too little.
struct Bottleneck {
  double seconds = 0;
  uint32_t link = 0;

  // Of a heap with the greatest load on the lowest link on top.
  friend bool operator<(const Bottleneck& a, const Bottleneck& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.link > b.link;
  }
};

class BssiOrder {
 public:
  explicit BssiOrder(std::span<const std::vector<LinkLoad>> coflows);
  std::vector<uint32_t> Run();

 private:
  struct Link {
    std::vector<CoflowLoad> users;  // those not yet placed, in no particular order
    double seconds = 0;             // their sum
  };

  // The most loaded link, if any has load left.
  const Link* FindBottleneck();
  CoflowLoad ChooseLast(const Link& bottleneck) const;
  void Scale(const Link& bottleneck, const CoflowLoad& last);
  void Remove(uint32_t coflow);

  std::span<const std::vector<LinkLoad>> coflows_;
  std::vector<Link> links_;
  std::priority_queue<Bottleneck> heap_;
  std::vector<double> weights_;   // [coflow]
  std::vector<uint8_t> is_left_;  // [coflow]: not yet placed
};

BssiOrder::BssiOrder(std::span<const std::vector<LinkLoad>> coflows)
    : coflows_(coflows), weights_(coflows.size(), 1.0), is_left_(coflows.size(), 1) {
  for (uint32_t c = 0; c < coflows.size(); ++c) {
    for (const LinkLoad& load : coflows[c]) {
      FL_CHECK(load.seconds > 0);
      if (load.link >= links_.size()) links_.resize(load.link + size_t{1});
      links_[load.link].users.push_back({c, load.seconds});
      links_[load.link].seconds += load.seconds;
    }
  }
  for (uint32_t l = 0; l < links_.size(); ++l) {
    if (!links_[l].users.empty()) heap_.push({links_[l].seconds, l});
  }
}

const BssiOrder::Link* BssiOrder::FindBottleneck() {
  while (!heap_.empty()) {
    const Bottleneck top = heap_.top();
    const Link& link = links_[top.link];
    if (link.seconds == top.seconds && !link.users.empty()) return &link;
    heap_.pop();
    if (!link.users.empty()) heap_.push({link.seconds, top.link});
  }
  return nullptr;
}

CoflowLoad BssiOrder::ChooseLast(const Link& bottleneck) const {
  CoflowLoad last = bottleneck.users.front();
  for (const CoflowLoad& user : bottleneck.users) {
    const double mine = weights_[user.coflow] / user.seconds;
    const double least = weights_[last.coflow] / last.seconds;
    if (mine < least || (mine == least && user.coflow > last.coflow)) last = user;
  }
  return last;
}

void BssiOrder::Scale(const Link& bottleneck, const CoflowLoad& last) {
  const double share = weights_[last.coflow] / last.seconds;
  for (const CoflowLoad& user : bottleneck.users) {
    if (user.coflow != last.coflow) weights_[user.coflow] -= share * user.seconds;
  }
}

void BssiOrder::Remove(uint32_t coflow) {
  is_left_[coflow] = 0;
  for (const LinkLoad& load : coflows_[coflow]) {
    Link& link = links_[load.link];
    std::erase_if(link.users, [&](const CoflowLoad& user) { return user.coflow == coflow; });
    // Added up again: differences would leave rounding where nothing is, and break ties at random.
    link.seconds = 0;
    for (const CoflowLoad& user : link.users) link.seconds += user.seconds;
  }
}

std::vector<uint32_t> BssiOrder::Run() {
  std::vector<uint32_t> from_last;
  while (const Link* bottleneck = FindBottleneck()) {
    const CoflowLoad last = ChooseLast(*bottleneck);
    Scale(*bottleneck, last);
    Remove(last.coflow);
    from_last.push_back(last.coflow);
  }
  std::vector<uint32_t> order;
  for (uint32_t c = 0; c < coflows_.size(); ++c) {
    if (is_left_[c] != 0) order.push_back(c);
  }
  order.insert(order.end(), from_last.rbegin(), from_last.rend());
  return order;
}

}  // namespace

std::vector<uint32_t> FindBssiOrder(std::span<const std::vector<LinkLoad>> coflows) { return BssiOrder(coflows).Run(); }

}  // namespace fairlead::traffic::sincronia
