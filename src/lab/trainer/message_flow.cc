#include "lab/trainer/message_flow.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace fairlead::lab {

MessageFlow::MessageFlow(const TrainerPlan& plan, CollectiveObserver* observer, ClearToSend clear_to_send)
    : plan_(plan),
      observer_(observer),
      clear_to_send_(std::move(clear_to_send)),
      channels_(plan.phases.size()),
      num_messages_(plan.connections.size(), 0),
      cleared_(plan.connections.size(), 0) {
  for (size_t p = 0; p < plan.phases.size(); ++p) {
    const PhasePlan& phase = plan.phases[p];
    for (size_t o = 0; o < phase.operations.size(); ++o) {
      const std::vector<ChannelPlan>& channels = phase.operations[o].channels;
      for (size_t c = 0; c < channels.size(); ++c) {
        const ChannelUse use{.phase = p, .operation = o, .channel = c, .is_send = channels[c].is_send};
        channels_[p].push_back(MakeChannel(use, phase, channels[c]));
      }
    }
  }
}

// In a ring a message must not need a part that comes only after it has arrived: messages begin where parts do.
uint64_t MessageFlow::NumMessages(uint64_t bytes, uint64_t parts, uint64_t lead) {
  const auto rounded_up = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };
  if (lead >= parts) return rounded_up(bytes, kMessageBytes);
  for (const uint64_t parts_per_message : {4, 2}) {
    const uint64_t messages = parts / parts_per_message;
    const bool fits = parts % parts_per_message == 0 && 2 * parts_per_message <= lead;
    if (fits && rounded_up(bytes, messages) <= kMessageBytes) return messages;
  }
  return parts * rounded_up(bytes, kMessageBytes * parts);
}

MessageFlow::Channel MessageFlow::MakeChannel(const ChannelUse& use, const PhasePlan& phase,
                                              const ChannelPlan& plan) const {
  Channel channel{.use = use, .num_messages = 0, .shares = {}};
  uint64_t bytes = 0;
  uint64_t parts = 1;
  uint64_t lead = ~uint64_t{0};
  for (const StreamPlan& stream : phase.streams) {
    for (const Pool& pool : PoolsOf(plan_.connections, use.is_send ? stream.sends : stream.receives, stream.pools)) {
      if (std::ranges::find(plan.connections, pool.connections[0]) == plan.connections.end()) continue;
      channel.shares.push_back({pool.bytes, pool.connections});
      bytes += pool.bytes;
      if (stream.lead >= stream.parts) continue;
      parts = std::lcm(parts, uint64_t{stream.parts});
      lead = std::min(lead, uint64_t{stream.lead});
    }
  }
  FL_CHECK(bytes > 0);
  // Both ends know the same connections by other indices: the order of the plan decides which one is first.
  std::ranges::sort(channel.shares, {}, [&](const Share& share) {
    return std::ranges::find(plan.connections, share.connections[0]) - plan.connections.begin();
  });
  channel.num_messages = static_cast<uint32_t>(NumMessages(bytes, parts, lead));
  return channel;
}

uint64_t MessageFlow::Channel::BytesOf(uint32_t message) const {
  uint64_t bytes = 0;
  for (const Share& share : shares) {
    bytes += BytesOfParts(share.bytes, message + 1, num_messages) - BytesOfParts(share.bytes, message, num_messages);
  }
  return bytes;
}

ChannelUse MessageFlow::Use::Name() const {
  ChannelUse name = channel->use;
  name.iteration = iteration;
  return name;
}

void MessageFlow::BeginPhase(uint64_t iteration, size_t phase, IterationState* state) {
  iteration_ = iteration;
  phase_ = phase;
  has_ended_.assign(plan_.phases[phase].operations.size(), false);
  for (const Channel& channel : channels_[phase]) {
    uses_.push_back({.channel = &channel, .iteration = iteration, .bases = {}});
    if (!channel.use.is_send) continue;
    for (const Share& share : channel.shares) state->SetLimit(share.connections[0], 0);
  }
}

void MessageFlow::EndPhase() {
  EndOperations(nullptr);
  for (Use& use : uses_) use.is_current = false;
}

void MessageFlow::OnClearToSend(uint32_t connection, uint64_t messages) {
  cleared_[connection] = std::max(cleared_[connection], messages);
}

bool MessageFlow::Poll(std::span<const uint64_t> acknowledged, IterationState* state) {
  bool has_moved = false;
  for (size_t i = 0; i < uses_.size(); ++i) {
    Use& use = uses_[i];
    if (!use.has_begun) {
      if (IsBlocked(i)) continue;
      Begin(&use);
      for (const Share& share : use.channel->shares) {
        uint64_t base = 0;
        for (const uint32_t c : share.connections) base += acknowledged[c];
        use.bases.push_back(base);
      }
      has_moved = true;
    }
    IterationState* const current = use.is_current ? state : nullptr;
    has_moved |= use.channel->use.is_send ? PollSend(&use, acknowledged, current) : PollReceive(&use, current);
    if (use.done == use.channel->num_messages) observer_->OnChannelEnded(use.Name());
  }
  std::erase_if(uses_, [](const Use& use) { return use.has_begun && use.done == use.channel->num_messages; });
  if (state != nullptr) EndOperations(state);
  return has_moved;
}

// Something that was before it on one of its connections has not ended.
bool MessageFlow::IsBlocked(size_t index) const {
  const auto has = [](const Channel& channel, uint32_t c) {
    return std::ranges::any_of(
        channel.shares, [c](const Share& s) { return std::ranges::find(s.connections, c) != s.connections.end(); });
  };
  for (size_t i = 0; i < index; ++i) {
    const bool has_ended = uses_[i].has_begun && uses_[i].done == uses_[i].channel->num_messages;
    if (has_ended || uses_[i].channel->use.is_send != uses_[index].channel->use.is_send) continue;
    for (const Share& share : uses_[index].channel->shares) {
      if (std::ranges::any_of(share.connections, [&](uint32_t c) { return has(*uses_[i].channel, c); })) return true;
    }
  }
  return false;
}

void MessageFlow::Begin(Use* use) {
  use->has_begun = true;
  uint64_t& count = num_messages_[use->channel->first_connection()];
  use->first_message = std::exchange(count, count + use->channel->num_messages);
  observer_->OnChannelBegan(use->Name(), use->channel->num_messages);
}

bool MessageFlow::PollSend(Use* use, std::span<const uint64_t> acknowledged, IterationState* state) {
  const Channel& channel = *use->channel;
  const uint64_t cleared =
      cleared_[channel.first_connection()] - std::min(cleared_[channel.first_connection()], use->first_message);
  bool has_moved = false;
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    while (use->posted < channel.num_messages && use->posted < use->done + kMessageSlots) {
      Tell(*use, use->posted++, MessageState::kSendWaitsForGpu);
    }
    while (use->filled < use->posted && IsFilled(*use, use->filled, state)) {
      Tell(*use, use->filled++, MessageState::kSendWaitsForPeer);
    }
    while (use->given < use->filled && use->given < cleared) {
      Tell(*use, use->given++, MessageState::kSendOnWire);
      has_moved = true;
    }
    while (use->done < use->given && IsAcknowledged(*use, use->done, acknowledged)) {
      Tell(*use, use->done++, MessageState::kSendDone);
      goes_on = has_moved = true;
    }
  }
  if (use->given < use->filled) Tell(*use, use->given, MessageState::kSendWaitsForPeer);
  if (state == nullptr) return has_moved;
  for (const Share& share : channel.shares) {
    state->SetLimit(share.connections[0], BytesOfParts(share.bytes, use->given, channel.num_messages));
  }
  return has_moved;
}

bool MessageFlow::PollReceive(Use* use, IterationState* state) {
  FL_CHECK(state != nullptr);  // a phase ends when all has come
  const Channel& channel = *use->channel;
  bool has_moved = false;
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    const bool is_announced = use->given == use->posted;
    while (use->posted < channel.num_messages && use->posted < use->done + kMessageSlots) {
      Tell(*use, use->posted++, MessageState::kReceiveBegan);
    }
    if (use->given < use->posted) {
      if (!is_announced) Tell(*use, use->given, MessageState::kReceiveBegan);
      if (clear_to_send_(channel.first_connection(), use->first_message + use->posted)) {
        while (use->given < use->posted) Tell(*use, use->given++, MessageState::kReceivePosted);
        has_moved = true;
      }
    }
    while (use->done < use->given && HasArrived(*use, use->done, *state)) {
      Tell(*use, use->done, MessageState::kReceiveArrived);
      Tell(*use, use->done++, MessageState::kReceiveTaken);
      goes_on = has_moved = true;
    }
  }
  return has_moved;
}

bool MessageFlow::IsFilled(const Use& use, uint32_t message, const IterationState* state) const {
  if (state == nullptr) return true;  // all was sent
  return std::ranges::all_of(use.channel->shares, [&](const Share& share) {
    return state->ShareOf(share.connections[0]).allowed >=
           BytesOfParts(share.bytes, message + 1, use.channel->num_messages);
  });
}

bool MessageFlow::HasArrived(const Use& use, uint32_t message, const IterationState& state) const {
  return std::ranges::all_of(use.channel->shares, [&](const Share& share) {
    return state.ShareOf(share.connections[0]).done >=
           BytesOfParts(share.bytes, message + 1, use.channel->num_messages);
  });
}

bool MessageFlow::IsAcknowledged(const Use& use, uint32_t message, std::span<const uint64_t> acknowledged) const {
  for (size_t s = 0; s < use.channel->shares.size(); ++s) {
    const Share& share = use.channel->shares[s];
    uint64_t bytes = 0;
    for (const uint32_t c : share.connections) bytes += acknowledged[c];
    if (bytes < use.bases[s] + BytesOfParts(share.bytes, message + 1, use.channel->num_messages)) return false;
  }
  return true;
}

void MessageFlow::Tell(const Use& use, uint32_t message, MessageState state) {
  observer_->OnMessage(use.Name(), message, state, use.channel->BytesOf(message));
}

// Tells of operations that are through; without a state all are.
void MessageFlow::EndOperations(IterationState* state) {
  if (state != nullptr && !state->local_part_is_over()) return;
  for (size_t o = 0; o < has_ended_.size(); ++o) {
    if (has_ended_[o]) continue;
    const bool is_through = state == nullptr || std::ranges::all_of(channels_[phase_], [&](const Channel& channel) {
                              if (channel.use.operation != o) return true;
                              return std::ranges::all_of(channel.shares, [&](const Share& share) {
                                return state->ShareOf(share.connections[0]).done == share.bytes;
                              });
                            });
    if (!is_through) continue;
    has_ended_[o] = true;
    observer_->OnEnded(iteration_, phase_, o);
  }
}

bool MessageFlow::AwaitsClearToSend(uint32_t connection) const {
  return std::ranges::any_of(uses_, [&](const Use& use) {
    return use.channel->use.is_send && use.channel->first_connection() == connection &&
           (!use.has_begun || cleared_[connection] < use.first_message + use.channel->num_messages);
  });
}

bool MessageFlow::AwaitsAcknowledgement() const {
  return std::ranges::any_of(uses_, [](const Use& use) { return use.channel->use.is_send && use.done < use.given; });
}

bool MessageFlow::HasQueue() const {
  return std::ranges::any_of(uses_, [](const Use& use) { return !use.has_begun; });
}

}  // namespace fairlead::lab
