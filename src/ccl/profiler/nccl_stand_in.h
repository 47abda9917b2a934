// Imitates NCCL: reports a worker's communication to a profiler plugin with the calls that NCCL would make, in its
// order and from its threads.
//
//     main thread       init of each communicator; per call: (group, program's call, kernel launch,) operation start
//                       and stop, which is the end of its being enqueued, not of the operation; finalize
//     progress thread   the one that moves bytes: kernel channels, proxy operations, steps with their states
//
// Problem     plugin, agent, diagnosis should see what they would see of a job on GPUs, where there are none.
// Method      the worker's bytes are real; what it tells (lab/trainer/collective_observer.h) becomes events:
//               called     group -> operation in one call of the library for each communicator (sends and receives
//                          together, as programs group them), with the program's events above since version 5
//               begun      a kernel channel starts for each channel, by a GPU clock that has nothing to do with ours
//               messages   a send: GPU wait (8), peer wait (20, again and again), send wait (9), stop;
//                          a receive: start (again and again until it is posted), receive wait (10), flush wait (11),
//                          GPU wait (12), stop
//             Events are asked for by the mask as it is when the operation is called; a child forces its parents.
//             Kernels are launched as soon as they are called, since there is no stream of the program to wait for;
//             the channels of a call are known when the call is, so the progress thread waits for that.
// Guarantees  every event that starts stops, but for what is under way when the worker is stopped. Where the mask wants
//             nothing no event is made.
// Differs     a GPU takes a message at once, so states 11 and 12 of a receive follow each other; one kernel per
//             operation, where NCCL fuses the sends and receives of a group.
// Reference   NVIDIA/nccl, src/enqueue.cc, src/transport/net.cc, src/plugin/profiler.cc; traps of the interface:
//             recorder.h.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ccl/profiler/plugin_calls.h"
#include "lab/trainer/collective_observer.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/message_flow.h"
#include "lab/trainer/trainer.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::ccl {

class NcclStandIn : public lab::CollectiveObserver {
 public:
  // The plan must outlive it.
  NcclStandIn(const lab::TrainerPlan& plan, std::unique_ptr<PluginCalls> plugin);
  ~NcclStandIn() override;

  // ---- The main thread ----

  // Begins all communicators. Errors: kUnavailable: the plugin refuses one.
  Status Begin();
  // Makes the calls of the program until Close().
  void Serve();
  // Ends all communicators.
  void End();

  // ---- The progress thread: that of Train() ----

  void OnCalled(uint64_t iteration, size_t phase) override;
  void OnBegan(uint64_t iteration, size_t phase) override;
  void OnEnded(uint64_t iteration, size_t phase, size_t operation) override;
  void OnChannelBegan(const lab::ChannelUse& use, uint32_t num_messages) override;
  void OnChannelEnded(const lab::ChannelUse& use) override;
  void OnMessage(const lab::ChannelUse& use, uint32_t message, lab::MessageState state, uint64_t bytes) override;
  // Nothing more comes from this thread.
  void Close();

 private:
  struct Communicator {
    void* context = nullptr;
    int rank = 0;
    std::map<std::string, uint64_t> num_calls;  // of each function
  };
  // One operation of one iteration.
  struct Call {
    uint64_t events = 0;  // wanted when it was called
    void* handle = nullptr;
    std::vector<std::pair<uint8_t, void*>> kernels;  // channel, handle
  };
  struct Channel {
    void* handle = nullptr;
    std::array<void*, lab::kMessageSlots> steps = {};
  };

  // Of two iterations: the messages of one may end when the next has begun.
  Call& CallOf(uint64_t iteration, size_t phase, size_t operation) { return calls_[iteration % 2][phase][operation]; }
  Channel& ChannelOf(const lab::ChannelUse& use) { return channels_[use.phase][use.operation][use.channel]; }
  Communicator& CommunicatorOf(const lab::OperationPlan& operation) { return communicators_[operation.communicator]; }
  uint64_t GpuNow() const;
  // The mask, as it is now.
  uint64_t WantedEvents() const { return static_cast<unsigned>(__atomic_load_n(&mask_, __ATOMIC_RELAXED)); }
  void MakeCalls(uint64_t iteration, size_t phase);
  void CallGroup(uint64_t iteration, size_t phase, uint32_t communicator, const std::vector<size_t>& operations);
  void* StartOperation(void* parent, void* group, const lab::OperationPlan& operation);

  const lab::TrainerPlan& plan_;
  std::unique_ptr<PluginCalls> plugin_;
  int mask_ = 0;  // the plugin writes it at any time
  std::vector<Communicator> communicators_;
  std::array<std::vector<std::vector<Call>>, 2> calls_;      // [iteration % 2][phase][operation]
  std::vector<std::vector<std::vector<Channel>>> channels_;  // [phase][operation][channel]

  // From the progress thread to the main thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<uint64_t, size_t>> called_;  // (iteration, phase), to be done
  uint64_t num_done_ = 0;                           // phases ever, by the main thread
  bool is_closed_ = false;

  // Of the progress thread alone.
  uint64_t num_called_ = 0;          // phases ever
  std::vector<uint64_t> number_of_;  // [phase] of its latest call, from 1
};

// lab::Train() as a program that uses NCCL: the calls are made by this thread, bytes are moved by another one.
// Args: simulation: begun; it takes the place of options.observer. Its communicators stay.
Status TrainAsNccl(const lab::TrainerPlan& plan, lab::Connections connections, const std::atomic<bool>& stop,
                   const lab::RecordSink& record, lab::TrainOptions options, NcclStandIn* stand_in);

}  // namespace fairlead::ccl
