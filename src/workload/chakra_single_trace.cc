#include "workload/chakra_single_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "workload/chakra_groups.h"
#include "workload/chakra_schedule.h"

namespace fairlead::workload {
namespace {

using collective::CollectiveKind;
using collective::CollectiveSequence;
using collective::SequenceStep;
using collective::StepGroup;
using Ranks = std::vector<uint32_t>;

class SingleTrace {
 public:
  SingleTrace(const ChakraTrace& trace, const ChakraOptions& options) : trace_(trace), options_(options) {
    for (const ChakraNode& node : trace.nodes) {
      if (node.kind == ChakraNodeKind::kReceive) received_shifts_.insert(ShiftOf(node));
    }
  }

  Result<CollectiveSequence> ToSequence() {
    FL_ASSIGN_OR_RETURN(const ChakraSchedule schedule, ScheduleChakraTrace(trace_));
    CollectiveSequence sequence;
    sequence.name = trace_.name;
    sequence.num_gpus = options_.num_gpus;
    Seconds position;
    for (const ScheduledCommunication& communication : schedule.communications) {
      FL_ASSIGN_OR_RETURN(SequenceStep step, StepOf(trace_.nodes[communication.node]));
      step.compute = communication.issue - position;
      step.overlap = communication.wait - communication.issue;
      position = communication.issue;
      sequence.steps.push_back(step);
    }
    sequence.steps.push_back({.compute = schedule.compute - position, .bytes = {}, .overlap = {}, .group = {}});
    sequence.notes.emplace_back("one trace is used for all ranks");
    LeftOut left_out;
    left_out.Add(trace_);
    left_out.AddNotes(sequence.notes);
    return sequence;
  }

 private:
  // From the sender to the receiver.
  int64_t ShiftOf(const ChakraNode& node) const {
    const int64_t away = int64_t{node.peer} - trace_.rank;
    return node.kind == ChakraNodeKind::kSend ? away : -away;
  }

  Result<SequenceStep> StepOf(const ChakraNode& node) const {
    SequenceStep step;
    if (node.kind != ChakraNodeKind::kCollective) {
      step.kind = CollectiveKind::kSendReceive;
      step.group = {.kind = StepGroup::Kind::kShifted, .shift = ShiftOf(node)};
      const bool is_counted = node.kind == ChakraNodeKind::kReceive || !received_shifts_.contains(step.group.shift);
      step.bytes = is_counted ? node.bytes : Bytes(0);
      return step;
    }
    FL_ASSIGN_OR_RETURN(const std::optional<Ranks> members, FindMembers(trace_, node));
    FL_ASSIGN_OR_RETURN(step.group, Tile(node, members));
    step.kind = node.collective;
    const double num_members = members ? static_cast<double>(members->size()) : options_.num_gpus;
    if (num_members == 0 && node.collective == CollectiveKind::kHierarchicalAllGather) {
      return InvalidArgument(
          fmt::format("{}: node {} gathers from all ranks, and one trace doesn't say how many there "
                      "are; give the number of GPUs (--gpus)",
                      trace_.name, node.id));
    }
    step.bytes = BufferBytes(node.collective, node.bytes, num_members);
    return step;
  }

  // All groups of the shape of this one.
  Result<StepGroup> Tile(const ChakraNode& node, const std::optional<Ranks>& members) const {
    if (!members) return StepGroup{};
    const auto size = static_cast<uint32_t>(members->size());
    const uint32_t stride = size > 1 ? (*members)[1] - (*members)[0] : 1;
    bool is_regular = members->front() % (uint64_t{size} * stride) < stride;
    for (size_t i = 1; i < size; ++i) is_regular = is_regular && (*members)[i] - (*members)[i - 1] == stride;
    if (is_regular) return StepGroup{.kind = StepGroup::Kind::kStrided, .size = size, .stride = stride};
    return InvalidArgument(
        fmt::format("{}: node {}: one trace can only be used for all ranks where its groups are equally "
                    "spaced blocks; found ranks {}; give the traces of all ranks (PREFIX.N.et)",
                    trace_.name, node.id, fmt::join(std::span(*members).first(std::min<size_t>(size, 8)), ", ")));
  }

  const ChakraTrace& trace_;
  const ChakraOptions& options_;
  std::set<int64_t> received_shifts_;
};

}  // namespace

Result<CollectiveSequence> SequenceOfOneTrace(const ChakraTrace& trace, const ChakraOptions& options) {
  return SingleTrace(trace, options).ToSequence();
}

}  // namespace fairlead::workload
