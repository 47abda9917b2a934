#include "ccl/profiler/nccl_stand_in.h"

#include <algorithm>
#include <set>
#include <thread>

#include "base/check.h"
#include "ccl/monotonic_clock.h"
#include "ccl/profiler/nccl_profiler_abi.h"

namespace fairlead::ccl {
namespace {

using lab::ChannelUse;
using lab::MessageState;
using lab::OperationPlan;

// A child forces its parents.
constexpr uint64_t kStepEvents = nccl::kProxyStep | nccl::kNetPlugin;
constexpr uint64_t kChannelEvents = kStepEvents | nccl::kProxyOperation;
constexpr uint64_t kPartEvents = kChannelEvents | nccl::kKernelChannel;
constexpr uint64_t kOperationEvents = kPartEvents | nccl::kCollective | nccl::kPointToPoint;
constexpr uint64_t kGroupApiEvents = kOperationEvents | nccl::kGroup | nccl::kGroupApi | nccl::kCollectiveApi |
                                     nccl::kPointToPointApi | nccl::kKernelLaunch;

bool IsTransfer(const OperationPlan& operation) { return operation.peer >= 0; }

// What is recorded of the operation itself, and of the call of the program.
uint64_t EventsOf(const OperationPlan& operation) {
  return kPartEvents | (IsTransfer(operation) ? nccl::kPointToPoint : nccl::kCollective);
}
uint64_t ApiEventsOf(const OperationPlan& operation) {
  return EventsOf(operation) | (IsTransfer(operation) ? nccl::kPointToPointApi : nccl::kCollectiveApi);
}

std::set<uint8_t> ChannelNumbers(const OperationPlan& operation) {
  std::set<uint8_t> numbers;
  for (const lab::ChannelPlan& channel : operation.channels) numbers.insert(static_cast<uint8_t>(channel.channel));
  return numbers;
}

// NCCL's argument: what each rank gives of what is gathered, or gets of what is scattered.
uint64_t CountOf(const OperationPlan& operation, size_t num_ranks) {
  const bool is_split = operation.function == "AllGather" || operation.function == "ReduceScatter";
  return is_split ? operation.bytes / num_ranks : operation.bytes;
}

}  // namespace

NcclStandIn::NcclStandIn(const lab::TrainerPlan& plan, std::unique_ptr<PluginCalls> plugin)
    : plan_(plan), plugin_(std::move(plugin)), number_of_(plan.phases.size(), 0) {
  for (const lab::PhasePlan& phase : plan.phases) {
    for (auto& calls : calls_) calls.emplace_back(phase.operations.size());
    channels_.emplace_back();
    for (const OperationPlan& operation : phase.operations) {
      channels_.back().emplace_back(operation.channels.size());
    }
  }
}

NcclStandIn::~NcclStandIn() { End(); }

// ---- The main thread ----

Status NcclStandIn::Begin() {
  for (const lab::CommunicatorPlan& planned : plan_.communicators) {
    const auto own = std::ranges::lower_bound(planned.workers, plan_.worker);
    Communicator communicator;
    communicator.rank = static_cast<int>(own - planned.workers.begin());
    const int size = static_cast<int>(planned.workers.size());
    FL_ASSIGN_OR_RETURN(
        communicator.context,
        plugin_->Begin(
            {.id = planned.id, .name = planned.name, .num_nodes = size, .num_ranks = size, .rank = communicator.rank},
            &mask_));
    communicators_.push_back(std::move(communicator));
  }
  return OkStatus();
}

void NcclStandIn::End() {
  for (const Communicator& communicator : communicators_) {
    if (communicator.context != nullptr) plugin_->End(communicator.context);
  }
  communicators_.clear();
}

void NcclStandIn::Serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closed_ || !called_.empty(); });
    if (called_.empty()) return;
    const auto [iteration, phase] = called_.front();
    called_.pop_front();
    lock.unlock();
    MakeCalls(iteration, phase);
    lock.lock();
    ++num_done_;
    changed_.notify_all();
  }
}

// What goes to one communicator is one group, as programs do it with sends and receives.
void NcclStandIn::MakeCalls(uint64_t iteration, size_t phase) {
  const std::vector<OperationPlan>& operations = plan_.phases[phase].operations;
  std::map<uint32_t, std::vector<size_t>> groups;
  for (size_t o = 0; o < operations.size(); ++o) groups[operations[o].communicator].push_back(o);
  for (const auto& [communicator, members] : groups) CallGroup(iteration, phase, communicator, members);
}

void NcclStandIn::CallGroup(uint64_t iteration, size_t phase, uint32_t communicator,
                            const std::vector<size_t>& operations) {
  const uint64_t events = WantedEvents();
  void* const context = communicators_[communicator].context;
  const std::vector<OperationPlan>& planned = plan_.phases[phase].operations;
  const auto start = [&](uint64_t type, uint64_t wanted_by, void* parent, const OperationPlan* operation) -> void* {
    if ((events & wanted_by) == 0) return nullptr;
    PluginEvent event{.type = type, .parent = parent, .group_depth = 1};
    if (operation != nullptr) {
      event.function = operation->function.c_str();
      event.count = CountOf(*operation, plan_.communicators[communicator].workers.size());
    }
    return plugin_->Start(context, event);
  };
  const auto stop = [&](void* handle) {
    if (handle != nullptr) plugin_->Stop(handle);
  };
  const bool has_api = plugin_->has_api_events();
  void* const group_api = has_api ? start(nccl::kGroupApi, kGroupApiEvents, nullptr, nullptr) : nullptr;
  if (group_api != nullptr) plugin_->Record(group_api, nccl::kGroupStartEnded, 0);
  std::vector<void*> apis;
  for (const size_t o : operations) {
    const uint64_t type = IsTransfer(planned[o]) ? nccl::kPointToPointApi : nccl::kCollectiveApi;
    apis.push_back(has_api ? start(type, ApiEventsOf(planned[o]), group_api, &planned[o]) : nullptr);
    stop(apis.back());
  }
  if (group_api != nullptr) {
    plugin_->Record(group_api, nccl::kGroupEndBegan, 0);
    stop(start(nccl::kKernelLaunch, nccl::kKernelLaunch, group_api, nullptr));
  }
  // Up to version 4 a group is the parent of its operations, however they are requested.
  void* const group = start(nccl::kGroup, has_api ? nccl::kGroup : nccl::kGroup | kOperationEvents, nullptr, nullptr);
  for (size_t i = 0; i < operations.size(); ++i) {
    Call& call = CallOf(iteration, phase, operations[i]);
    call = {.events = events, .handle = nullptr, .kernels = {}};
    const OperationPlan& operation = planned[operations[i]];
    if ((events & EventsOf(operation)) != 0) call.handle = StartOperation(has_api ? apis[i] : group, group, operation);
  }
  for (const size_t o : operations) stop(CallOf(iteration, phase, o).handle);
  stop(group);
  stop(group_api);
}

void* NcclStandIn::StartOperation(void* parent, void* group, const OperationPlan& operation) {
  Communicator& communicator = CommunicatorOf(operation);
  const size_t num_ranks = plan_.communicators[operation.communicator].workers.size();
  return plugin_->Start(communicator.context, {.type = IsTransfer(operation) ? nccl::kPointToPoint : nccl::kCollective,
                                               .parent = parent,
                                               .parent_group = group,
                                               .rank = communicator.rank,
                                               .function = operation.function.c_str(),
                                               .sequence = communicator.num_calls[operation.function]++,
                                               .count = CountOf(operation, num_ranks),
                                               .peer = operation.peer,
                                               .num_channels = static_cast<uint8_t>(ChannelNumbers(operation).size())});
}

// ---- The progress thread ----

void NcclStandIn::OnCalled(uint64_t iteration, size_t phase) {
  if (plan_.phases[phase].operations.empty()) return;
  number_of_[phase] = ++num_called_;
  const std::scoped_lock lock(mutex_);
  called_.emplace_back(iteration, phase);
  changed_.notify_all();
}

void NcclStandIn::OnBegan(uint64_t iteration, size_t phase) {
  const std::vector<OperationPlan>& operations = plan_.phases[phase].operations;
  if (operations.empty()) return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_done_ >= number_of_[phase]; });
  }
  for (size_t o = 0; o < operations.size(); ++o) {
    Call& call = CallOf(iteration, phase, o);
    if (call.handle == nullptr || (call.events & nccl::kKernelChannel) == 0) continue;
    for (const uint8_t channel : ChannelNumbers(operations[o])) {
      void* const kernel = plugin_->Start(
          CommunicatorOf(operations[o]).context,
          {.type = nccl::kKernelChannel, .parent = call.handle, .channel = channel, .gpu_timer_ns = GpuNow()});
      call.kernels.emplace_back(channel, kernel);
    }
  }
}

void NcclStandIn::OnEnded(uint64_t iteration, size_t phase, size_t operation) {
  Call& call = CallOf(iteration, phase, operation);
  for (const auto& [channel, kernel] : call.kernels) {
    if (kernel == nullptr) continue;
    plugin_->Record(kernel, nccl::kKernelChannelStop, GpuNow());
    plugin_->Stop(kernel);
  }
  call.kernels.clear();
}

void NcclStandIn::OnChannelBegan(const ChannelUse& use, uint32_t num_messages) {
  const OperationPlan& operation = plan_.phases[use.phase].operations[use.operation];
  const lab::ChannelPlan& planned = operation.channels[use.channel];
  const Call& call = CallOf(use.iteration, use.phase, use.operation);
  Channel& channel = ChannelOf(use);
  channel = {};
  if ((call.events & kChannelEvents) == 0) return;
  const Communicator& communicator = CommunicatorOf(operation);
  channel.handle = plugin_->Start(communicator.context, {.type = nccl::kProxyOperation,
                                                         .parent = call.handle,
                                                         .rank = communicator.rank,
                                                         .peer = static_cast<int>(planned.peer),
                                                         .channel = static_cast<uint8_t>(planned.channel),
                                                         .num_steps = static_cast<int>(num_messages),
                                                         .chunk_bytes = static_cast<int>(lab::kMessageBytes),
                                                         .is_send = use.is_send});
  if (channel.handle != nullptr) plugin_->Record(channel.handle, nccl::kProxyOperationInProgress, 0);
}

void NcclStandIn::OnChannelEnded(const ChannelUse& use) {
  Channel& channel = ChannelOf(use);
  if (channel.handle != nullptr) plugin_->Stop(channel.handle);
  channel.handle = nullptr;
}

void NcclStandIn::OnMessage(const ChannelUse& use, uint32_t message, MessageState state, uint64_t bytes) {
  Channel& channel = ChannelOf(use);
  // Without a handle of the proxy operation nothing below it is reported.
  if (channel.handle == nullptr) return;
  if ((CallOf(use.iteration, use.phase, use.operation).events & kStepEvents) == 0) return;
  void*& step = channel.steps[message % lab::kMessageSlots];
  if (state == MessageState::kSendWaitsForGpu || state == MessageState::kReceiveBegan) {
    const Communicator& communicator = CommunicatorOf(plan_.phases[use.phase].operations[use.operation]);
    step = plugin_->Start(communicator.context, {.type = nccl::kProxyStep,
                                                 .parent = channel.handle,
                                                 .rank = communicator.rank,
                                                 .step = static_cast<int>(message)});
  }
  if (step == nullptr) return;
  // Bytes are reported with each state and are correct with two of them.
  switch (state) {
    case MessageState::kSendWaitsForGpu:
      return plugin_->Record(step, nccl::kSendGpuWait, 0);
    case MessageState::kSendWaitsForPeer:
      return plugin_->Record(step, nccl::kSendPeerWait, 0);
    case MessageState::kSendOnWire:
      return plugin_->Record(step, nccl::kSendWait, bytes);
    case MessageState::kReceiveBegan:
      return;
    case MessageState::kReceivePosted:
      return plugin_->Record(step, nccl::kReceiveWait, 0);
    case MessageState::kReceiveArrived:
      return plugin_->Record(step, nccl::kReceiveFlushWait, bytes);
    case MessageState::kReceiveTaken:
      plugin_->Record(step, nccl::kReceiveGpuWait, bytes);
      [[fallthrough]];
    case MessageState::kSendDone:
      plugin_->Stop(step);
      step = nullptr;
      return;
  }
}

void NcclStandIn::Close() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

// Its own clock, hours off, as fast as ours.
uint64_t NcclStandIn::GpuNow() const {
  return static_cast<uint64_t>(NowNs() + int64_t{3'600'000'000'000} * (plan_.worker + 1));
}

Status TrainAsNccl(const lab::TrainerPlan& plan, lab::Connections connections, const std::atomic<bool>& stop,
                   const lab::RecordSink& record, lab::TrainOptions options, NcclStandIn* stand_in) {
  options.observer = stand_in;
  Status status;
  std::thread progress([&] {
    status = lab::Train(plan, std::move(connections), stop, record, options);
    stand_in->Close();
  });
  stand_in->Serve();
  progress.join();
  return status;
}

}  // namespace fairlead::ccl
