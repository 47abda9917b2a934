#include "workload/chakra_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "collective/collective_sequence.h"

namespace fairlead::workload {
namespace {

// Edges from each node to those that depend on it, as ranges of one array.
struct Successors {
  std::vector<size_t> first;  // [node] .. [node + 1]
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> num_dependencies;  // [node]
};

Result<std::unordered_map<uint64_t, uint32_t>> IndexById(const ChakraTrace& trace) {
  std::unordered_map<uint64_t, uint32_t> index;  // looked up only, never walked
  index.reserve(trace.nodes.size());
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
    if (!index.try_emplace(trace.nodes[n].id, n).second) {
      return InvalidArgument(fmt::format("{}: two nodes have the id {}", trace.name, trace.nodes[n].id));
    }
  }
  return index;
}

Result<Successors> FindSuccessors(const ChakraTrace& trace) {
  FL_ASSIGN_OR_RETURN(const auto index, IndexById(trace));
  Successors successors;
  successors.first.assign(trace.nodes.size() + 1, 0);
  successors.num_dependencies.assign(trace.nodes.size(), 0);
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
    for (const uint64_t dependency : trace.nodes[n].dependencies) {
      const auto found = index.find(dependency);
      if (found == index.end()) {
        return InvalidArgument(fmt::format("{}: node {} depends on node {}, which the trace does not have", trace.name,
                                           trace.nodes[n].id, dependency));
      }
      ++successors.first[found->second + 1];
      ++successors.num_dependencies[n];
    }
  }
  for (size_t n = 0; n < trace.nodes.size(); ++n) successors.first[n + 1] += successors.first[n];
  successors.nodes.resize(successors.first.back());
  std::vector<size_t> next(successors.first.begin(), successors.first.end() - 1);
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
    for (const uint64_t dependency : trace.nodes[n].dependencies) {
      successors.nodes[next[index.at(dependency)]++] = n;
    }
  }
  return successors;
}

// What a node passes on to those that depend on it.
struct Progress {
  double ready = 0;             // position at which the computations before it are done
  size_t num_communicated = 0;  // of the schedule, the first that many must be over
};

class Scheduler {
 public:
  explicit Scheduler(const ChakraTrace& trace) : trace_(trace), progress_(trace.nodes.size()) {}

  void Run(uint32_t n) {
    const ChakraNode& node = trace_.nodes[n];
    Progress& own = progress_[n];
    switch (node.kind) {
      case ChakraNodeKind::kNothing:
        return;
      case ChakraNodeKind::kCompute:
        WaitForCommunication(own.num_communicated);
        clock_ += node.duration.value();
        own.ready = clock_;
        return;
      default:
        issued_ = std::max(issued_, own.ready);
        schedule_.communications.push_back({n, Seconds(issued_), collective::kUntilEnd});
        own.num_communicated = schedule_.communications.size();
    }
  }

  void PassOn(uint32_t from, uint32_t to) {
    progress_[to].ready = std::max(progress_[to].ready, progress_[from].ready);
    progress_[to].num_communicated = std::max(progress_[to].num_communicated, progress_[from].num_communicated);
  }

  ChakraSchedule Finish() && {
    schedule_.compute = Seconds(clock_);
    return std::move(schedule_);
  }

 private:
  void WaitForCommunication(size_t count) {
    for (; num_awaited_ < count; ++num_awaited_) schedule_.communications[num_awaited_].wait = Seconds(clock_);
  }

  const ChakraTrace& trace_;
  std::vector<Progress> progress_;  // [node]
  double clock_ = 0;
  double issued_ = 0;
  size_t num_awaited_ = 0;
  ChakraSchedule schedule_;
};

}  // namespace

Result<ChakraSchedule> ScheduleChakraTrace(const ChakraTrace& trace) {
  FL_ASSIGN_OR_RETURN(Successors successors, FindSuccessors(trace));
  using Entry = std::pair<uint64_t, uint32_t>;  // id, index
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
    if (successors.num_dependencies[n] == 0) ready.emplace(trace.nodes[n].id, n);
  }
  Scheduler scheduler(trace);
  size_t num_done = 0;
  for (; !ready.empty(); ++num_done) {
    const uint32_t n = ready.top().second;
    ready.pop();
    scheduler.Run(n);
    for (size_t i = successors.first[n]; i < successors.first[n + 1]; ++i) {
      const uint32_t successor = successors.nodes[i];
      scheduler.PassOn(n, successor);
      if (--successors.num_dependencies[successor] == 0) ready.emplace(trace.nodes[successor].id, successor);
    }
  }
  if (num_done == trace.nodes.size()) return std::move(scheduler).Finish();
  const auto stuck = std::find_if(successors.num_dependencies.begin(), successors.num_dependencies.end(),
                                  [](uint32_t count) { return count > 0; });
  const auto index = static_cast<size_t>(stuck - successors.num_dependencies.begin());
  return InvalidArgument(fmt::format("{}: node {} waits for itself; expected dependencies without a circle", trace.name,
                                     trace.nodes[index].id));
}

}  // namespace fairlead::workload
