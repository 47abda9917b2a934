#include "workload/chakra_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "workload/chakra_groups.h"
#include "workload/chakra_schedule.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using collective::CollectiveSequence;
using collective::SequenceStep;
using collective::StepGroup;
using Ranks = std::vector<uint32_t>;

constexpr double kNever = std::numeric_limits<double>::infinity();

// When a rank communicates: shares of its compute clock, and how many communications came before.
struct Moment {
  double position = 0;
  double wait = kNever;
  size_t number = 0;

  // The latest begin and the earliest wait.
  void Join(const Moment& other) {
    position = std::max(position, other.position);
    wait = std::min(wait, other.wait);
    number = std::max(number, other.number);
  }
};

// A collective as its members see it.
struct Instance {
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  Bytes bytes;
  Moment moment;
  uint32_t first_rank = 0;  // that reported it
  size_t num_seen = 0;
};

// One end of a message.
struct MessageEnd {
  Bytes bytes;
  Moment moment;
};

struct Messages {
  std::vector<MessageEnd> sent;
  std::vector<MessageEnd> received;
};

// Collectives or messages that happen together.
struct Bundle {
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  Bytes bytes;
  collective::ListedGroup lists;
  std::set<uint32_t> used;  // ranks that can't be in another list
  double position_sum = 0;
  double number_sum = 0;
  double wait = kNever;

  double position() const { return position_sum / static_cast<double>(lists.size()); }
  double number() const { return number_sum / static_cast<double>(lists.size()); }
};

// Puts what is alike together, in the order in which it comes.
class Bundler {
 public:
  // kind, bytes, ranks, distance of the first two, number within the group
  using Key = std::tuple<CollectiveKind, double, size_t, int64_t, size_t>;

  void Add(CollectiveKind kind, Bytes bytes, const Ranks& ranks, std::span<const uint32_t> exclusive, size_t number,
           const Moment& moment) {
    const int64_t distance = ranks.size() > 1 ? int64_t{ranks[1]} - ranks[0] : 0;
    std::vector<size_t>& candidates = by_key_[{kind, bytes.value(), ranks.size(), distance, number}];
    const auto is_free = [&](size_t b) {
      return std::none_of(exclusive.begin(), exclusive.end(), [&](uint32_t r) { return bundles_[b].used.contains(r); });
    };
    auto found = std::find_if(candidates.begin(), candidates.end(), is_free);
    if (found == candidates.end()) {
      found = candidates.insert(candidates.end(), bundles_.size());
      bundles_.emplace_back();
    }
    Bundle& bundle = bundles_[*found];
    bundle.kind = kind;
    bundle.bytes = bytes;
    bundle.lists.push_back(ranks);
    bundle.used.insert(exclusive.begin(), exclusive.end());
    bundle.position_sum += moment.position;
    bundle.number_sum += static_cast<double>(moment.number);
    bundle.wait = std::min(bundle.wait, moment.wait);
  }

  std::vector<Bundle> Finish() && {
    std::stable_sort(bundles_.begin(), bundles_.end(), [](const Bundle& a, const Bundle& b) {
      return std::pair(a.position(), a.number()) < std::pair(b.position(), b.number());
    });
    return std::move(bundles_);
  }

 private:
  std::vector<Bundle> bundles_;
  std::map<Key, std::vector<size_t>> by_key_;
};

}  // namespace

struct ChakraTraceMerger::State {
  std::string name;
  uint32_t num_ranks = 0;
  uint32_t num_added = 0;
  Seconds compute;  // of the slowest rank
  std::map<Ranks, std::vector<Instance>> collectives;
  std::map<std::pair<uint32_t, uint32_t>, Messages> messages;  // by sender and receiver
  LeftOut left_out;

  Status Fail(std::string_view problem) const { return InvalidArgument(fmt::format("{}: {}", name, problem)); }
  Status AddCollective(const ChakraTrace& trace, const ChakraNode& node, const Moment& moment,
                       std::map<Ranks, size_t>& counts);
  Status AddMessage(const ChakraTrace& trace, const ChakraNode& node, const Moment& moment);
  Status BundleCollectives(Bundler& bundler) const;
  Status BundleMessages(Bundler& bundler) const;
  CollectiveSequence ToSequence(const std::vector<Bundle>& bundles) const;
};

ChakraTraceMerger::ChakraTraceMerger(std::string name, uint32_t num_ranks) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  state_->num_ranks = num_ranks;
}
ChakraTraceMerger::~ChakraTraceMerger() = default;
ChakraTraceMerger::ChakraTraceMerger(ChakraTraceMerger&&) noexcept = default;

Status ChakraTraceMerger::State::AddCollective(const ChakraTrace& trace, const ChakraNode& node, const Moment& moment,
                                               std::map<Ranks, size_t>& counts) {
  FL_ASSIGN_OR_RETURN(std::optional<Ranks> members, FindMembers(trace, node));
  if (!members) {
    members.emplace(num_ranks);
    std::iota(members->begin(), members->end(), 0);
  }
  if (members->back() >= num_ranks) {
    return Fail(fmt::format("node {} of rank {} names rank {}; there are {} traces", node.id, trace.rank,
                            members->back(), num_ranks));
  }
  std::vector<Instance>& instances = collectives[*members];
  const size_t number = counts[*members]++;
  if (number == instances.size()) {
    instances.push_back({.kind = node.collective, .bytes = node.bytes, .moment = moment, .first_rank = trace.rank});
  }
  Instance& instance = instances[number];
  if (instance.kind != node.collective || instance.bytes != node.bytes) {
    return Fail(
        fmt::format("rank {} has {} of {} bytes as collective {} of ranks {}, {}, … where rank {} has {} of {} "
                    "bytes; expected traces of one run",
                    trace.rank, Name(node.collective), node.bytes.value(), number, members->front(), members->back(),
                    instance.first_rank, Name(instance.kind), instance.bytes.value()));
  }
  instance.moment.Join(moment);
  ++instance.num_seen;
  return OkStatus();
}

Status ChakraTraceMerger::State::AddMessage(const ChakraTrace& trace, const ChakraNode& node, const Moment& moment) {
  if (node.peer >= num_ranks) {
    return Fail(fmt::format("node {} of rank {} names rank {}; there are {} traces", node.id, trace.rank, node.peer,
                            num_ranks));
  }
  const bool is_send = node.kind == ChakraNodeKind::kSend;
  Messages& between = messages[is_send ? std::pair(trace.rank, node.peer) : std::pair(node.peer, trace.rank)];
  (is_send ? between.sent : between.received).push_back({node.bytes, moment});
  return OkStatus();
}

Status ChakraTraceMerger::Add(const ChakraTrace& trace) {
  FL_CHECK(trace.rank == state_->num_added && trace.rank < state_->num_ranks);
  FL_ASSIGN_OR_RETURN(const ChakraSchedule schedule, ScheduleChakraTrace(trace));
  const double compute = schedule.compute.value();
  std::map<Ranks, size_t> counts;
  size_t number = 0;
  for (const ScheduledCommunication& communication : schedule.communications) {
    const ChakraNode& node = trace.nodes[communication.node];
    const auto share = [compute](Seconds at) { return compute > 0 ? at.value() / compute : 0; };
    const Moment moment = {.position = share(communication.issue),
                           .wait = communication.wait < collective::kUntilEnd ? share(communication.wait) : kNever,
                           .number = number++};
    if (node.kind == ChakraNodeKind::kCollective) {
      FL_RETURN_IF_ERROR(state_->AddCollective(trace, node, moment, counts));
    } else {
      FL_RETURN_IF_ERROR(state_->AddMessage(trace, node, moment));
    }
  }
  state_->compute = std::max(state_->compute, schedule.compute);
  state_->left_out.Add(trace);
  ++state_->num_added;
  return OkStatus();
}

Status ChakraTraceMerger::State::BundleCollectives(Bundler& bundler) const {
  for (const auto& [members, instances] : collectives) {
    for (size_t i = 0; i < instances.size(); ++i) {
      const Instance& instance = instances[i];
      if (instance.num_seen != members.size()) {
        return Fail(
            fmt::format("only {} of the {} ranks {}, {}, … have collective {} of this group; expected traces of "
                        "one run",
                        instance.num_seen, members.size(), members.front(), members.back(), i));
      }
      const Bytes bytes = BufferBytes(instance.kind, instance.bytes, static_cast<double>(members.size()));
      bundler.Add(instance.kind, bytes, members, members, i, instance.moment);
    }
  }
  return OkStatus();
}

Status ChakraTraceMerger::State::BundleMessages(Bundler& bundler) const {
  for (const auto& [ends, between] : messages) {
    const auto& [from, to] = ends;
    if (between.sent.size() != between.received.size()) {
      return Fail(fmt::format("rank {} sends {} messages to rank {}, which receives {}; expected traces of one run",
                              from, between.sent.size(), to, between.received.size()));
    }
    for (size_t i = 0; i < between.sent.size(); ++i) {
      const MessageEnd& sent = between.sent[i];
      const MessageEnd& received = between.received[i];
      if (sent.bytes != received.bytes) {
        return Fail(fmt::format("message {} from rank {} to rank {} is sent with {} bytes and received with {}", i,
                                from, to, sent.bytes.value(), received.bytes.value()));
      }
      Moment moment = sent.moment;
      moment.Join(received.moment);
      bundler.Add(CollectiveKind::kSendReceive, sent.bytes, {from, to}, std::span(&from, 1), i, moment);
    }
  }
  return OkStatus();
}

CollectiveSequence ChakraTraceMerger::State::ToSequence(const std::vector<Bundle>& bundles) const {
  CollectiveSequence sequence;
  sequence.name = name;
  sequence.num_gpus = num_ranks;
  std::map<collective::ListedGroup, uint32_t> index_of;
  double position = 0;
  for (const Bundle& bundle : bundles) {
    SequenceStep& step = sequence.steps.emplace_back();
    step.kind = bundle.kind;
    step.bytes = bundle.bytes;
    step.compute = compute * std::max(0.0, bundle.position() - position);
    position = std::max(position, bundle.position());
    if (bundle.wait < kNever) {
      step.overlap = compute * std::max(0.0, bundle.wait - position);
    } else {
      step.overlap = collective::kUntilEnd;
    }
    if (bundle.lists.size() == 1 && bundle.lists[0].size() == num_ranks) continue;  // all ranks
    const auto [entry, is_new] = index_of.try_emplace(bundle.lists, static_cast<uint32_t>(sequence.listed.size()));
    if (is_new) sequence.listed.push_back(bundle.lists);
    step.group = {.kind = StepGroup::Kind::kListed, .index = entry->second};
  }
  sequence.steps.push_back({.compute = compute * (1 - position), .bytes = {}, .overlap = {}, .group = {}});
  left_out.AddNotes(sequence.notes);
  return sequence;
}

Result<CollectiveSequence> ChakraTraceMerger::Finish() && {
  FL_CHECK(state_->num_added == state_->num_ranks);
  Bundler bundler;
  FL_RETURN_IF_ERROR(state_->BundleCollectives(bundler));
  FL_RETURN_IF_ERROR(state_->BundleMessages(bundler));
  return state_->ToSequence(std::move(bundler).Finish());
}

}  // namespace fairlead::workload
