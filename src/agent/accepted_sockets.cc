#include "agent/accepted_sockets.h"

#include <algorithm>
#include <utility>

#include "model/job_identity.h"

namespace fairlead::agent {

namespace {

// Between two looks for owners.
constexpr SimDuration kShortestRest(1'000'000'000);
constexpr int64_t kRestFactor = 20;

// An accepted connection sends data, and not just messages about what it receives (credits, requests): so many bytes,
// and such a share of what it receives.
constexpr double kBytesOfSender = 64 * 1024;
constexpr double kShareOfSender = 1.0 / 16;

bool Sends(const SeenSocket& socket) {
  return socket.bytes_acked >= kBytesOfSender && socket.bytes_acked >= kShareOfSender * socket.bytes_received;
}

}  // namespace

void AcceptedSockets::Restore(std::span<const KeptAccepted> kept) {
  for (const KeptAccepted& accepted : kept) {
    sockets_.emplace(accepted.inode, Accepted{.kept = accepted, .since = outbox_.now(), .traffic_class = {}});
  }
}

std::vector<KeptAccepted> AcceptedSockets::State() const {
  std::vector<KeptAccepted> kept;
  for (const auto& [inode, accepted] : sockets_) kept.push_back(accepted.kept);
  return kept;
}

// Whether its process takes the class from our answer is not known: it is set again when the socket is seen.
void AcceptedSockets::Add(const KeptAccepted& kept) {
  if (kept.inode == 0 || (!sockets_.contains(kept.inode) && sockets_.size() >= num_max_)) return;
  sockets_[kept.inode] = {.kept = kept, .since = outbox_.now(), .traffic_class = {}};
  outbox_.Change();
}

void AcceptedSockets::Remove(uint64_t inode) {
  if (sockets_.erase(inode) > 0) outbox_.Change();
}

bool AcceptedSockets::HasSocketsOf(const std::string& job) const {
  return std::ranges::any_of(sockets_, [&](const auto& entry) { return entry.second.kept.job == job; });
}

void AcceptedSockets::ClassifyJob(const std::string& job) {
  for (auto& [inode, accepted] : sockets_) {
    if (accepted.kept.job == job) Classify(&accepted);
  }
}

void AcceptedSockets::Classify(Accepted* accepted) {
  const KeptAccepted& kept = accepted->kept;
  const auto traffic_class = ClassOf(levels_, kept.job);
  if (!traffic_class.has_value() || accepted->traffic_class == traffic_class) return;
  accepted->traffic_class = traffic_class;
  outbox_.Act(
      SetSocketClass{.pid = kept.pid, .inode = kept.inode, .is_ipv6 = kept.is_ipv6, .traffic_class = *traffic_class});
}

void AcceptedSockets::Look(SimTime asked_at, const ByInode& sockets,
                           const std::function<bool(const Accepted& accepted, const SocketPair& ends)>& hold) {
  for (auto entry = sockets_.begin(); entry != sockets_.end();) {
    Accepted& accepted = entry->second;
    const auto found = sockets.find(entry->first);
    const bool is_gone = found == sockets.end() && accepted.since < asked_at;
    const bool is_held = found != sockets.end() && Sends(*found->second) && hold(accepted, found->second->ends);
    if (is_gone || is_held) {
      outbox_.Change();
      entry = sockets_.erase(entry);
      continue;
    }
    if (!accepted.traffic_class.has_value()) Classify(&accepted);
    ++entry;
  }
}

void AcceptedSockets::LookForOwners(const SocketsSeen& event, const std::unordered_set<uint64_t>& opened,
                                    const std::function<bool(const SocketPair& ends)>& may_steer) {
  std::map<uint64_t, bool> unasked;
  std::vector<uint64_t> wanted;
  const bool may_look = !owners_wanted_at_.has_value() && next_look_for_owners_ <= outbox_.now();
  for (const SeenSocket& socket : event.sockets) {
    const bool is_unasked = socket.inode != 0 && !opened.contains(socket.inode) && !sockets_.contains(socket.inode) &&
                            may_steer(socket.ends);
    if (!is_unasked) continue;
    const bool is_new = !unasked_.contains(socket.inode);
    if (is_new && may_look) wanted.push_back(socket.inode);
    if (!is_new || may_look) unasked[socket.inode] = !socket.ends.local.is_ipv4();
  }
  unasked_ = std::move(unasked);
  if (wanted.empty()) return;
  owners_wanted_at_ = outbox_.now();
  outbox_.Act(FindOwners{std::move(wanted)});
}

void AcceptedSockets::TakeOwners(const OwnersFound& event) {
  if (!owners_wanted_at_.has_value()) return;
  next_look_for_owners_ = outbox_.now() + std::max(kShortestRest, (outbox_.now() - *owners_wanted_at_) * kRestFactor);
  owners_wanted_at_.reset();
  std::map<std::string, size_t> taken;
  for (const SocketOwner& owner : event.owners) {
    const auto socket = unasked_.find(owner.inode);
    const bool is_free = socket != unasked_.end() && sockets_.size() < num_max_ && !sockets_.contains(owner.inode);
    if (!is_free || !model::IsJobKey(owner.job)) continue;
    Add({.job = owner.job, .pid = owner.pid, .inode = owner.inode, .is_ipv6 = socket->second});
    Classify(&sockets_.at(owner.inode));
    ++taken[owner.job];
  }
  for (const auto& [job, count] : taken) {
    outbox_.Note("sockets of job " + job +
                 " that no agent was asked about, now looked after: " + std::to_string(count));
  }
}

}  // namespace fairlead::agent
