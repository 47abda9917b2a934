// What the ranks of a training job do, iteration by iteration: load, compute, exchange, and now and then pause.
//
// Problem     find the instants of every operation of every rank, where each waits for others, and hand every message
//             to the transfer simulator.
// Method      A rank is a host thread, which loads samples and enqueues the operations of an iteration ahead of the
//             GPU, and a GPU with one stream of kernels and one more for each direction of its pipeline. Tasks are
//             simulated in an order that puts the sender of activations before the receiver (pipeline_schedule), after
//             the opening that some shapes have, and before the exchanges of gradients. The host thread begins an
//             iteration when its GPU has ended the one before, as programs that read their loss do. Nothing of an
//             iteration happens on a rank before the rank's end of the one before, so what lies before the earliest end
//             is final and can be reported.
// Cost        O(messages) an iteration.
// Differs     Tensor groups exchange over NVLink in one fixed time; a barrier takes a few latencies; neither has
//             messages.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "execution/fault_effects.h"
#include "execution/gradient_exchange.h"
#include "execution/job_noise.h"
#include "execution/job_routes.h"
#include "execution/operation_log.h"
#include "execution/pipeline_schedule.h"
#include "execution/transfer_simulator.h"

namespace fairlead::execution {

class TrainingProgram {
 public:
  // All pointers must outlive the program.
  TrainingProgram(const JobShape& shape, const NoiseOptions& noise, const model::JobLayout* layout,
                  FaultEffects* effects, TransferSimulator* simulator, OperationLog* log, uint64_t seed);

  // Simulates the next iteration of all ranks. Nothing if the job has ended.
  void SimulateIteration();

  // Everything before this instant has been simulated. kNever: nothing more will happen.
  Instant Frontier() const;
  bool HasEnded() const { return shape_.iterations > 0 && iteration_ends_.size() == shape_.iterations; }
  // When the rank ended its last iteration; kNever: it hangs.
  Instant EndOf(model::RankId rank) const { return ends_[rank.index()]; }
  // [iteration] when its last rank ended it; kNever: one never did.
  const std::vector<Instant>& iteration_ends() const { return iteration_ends_; }

 private:
  // Positions of a rank's communicators, for counting.
  enum Axis : uint8_t { kTensor, kData, kPipeline, kAll, kNumAxes };

  struct RankState {
    Instant host = 0;                            // the host thread's next action
    Instant stream = 0;                          // the GPU's compute stream is free
    std::array<Instant, 2> send_stream = {};     // [PipelineDirection]
    std::array<Instant, 2> receive_stream = {};  // [PipelineDirection]
    std::array<uint64_t, kNumAxes> issued = {};  // operations
    // Of each kind; sends and receives [PipelineDirection].
    std::array<std::array<uint64_t, model::kNumOperationKinds>, kNumAxes> sequences = {};
    std::array<uint64_t, 2> sends = {};
    std::array<uint64_t, 2> receives = {};
    std::optional<FaultKind> mistake;  // of this iteration
  };
  // A logged operation; nothing if its rank never enqueued it.
  using Logged = std::optional<OperationLog::Handle>;
  // Activations or gradients that wait for their receiver.
  struct PendingSend {
    Logged logged;
    Instant ready = 0;  // enqueued, and the data is there
  };
  // Scratch: of the members of a communicator.
  struct Members {
    std::vector<Instant> starts;
    std::vector<Instant> finishes;
    std::vector<Logged> logged;
  };

  void BeginIteration();
  void SimulateOpening(const Route& route);
  void PlayTask(const PipelineTask& task);
  void ReceiveAndCompute(const PipelineTask& task, model::RankId rank);
  Instant ReceiveFromStage(model::RankId rank, PipelineDirection direction);
  void ReduceTensors(const PipelineTask& task);
  void SendToStage(model::RankId rank, PipelineDirection direction);
  void ExchangeGradients();
  void SimulateExchange(uint32_t tensor, uint32_t stage, size_t exchange);
  GradientExchange ExchangeOf(model::RankId rank, size_t exchange) const;
  void EndIteration();
  void WriteCheckpoint();
  void SimulateBarrier();
  // A mistake: the others come only after what waits for this rank.
  void EnterBarrierAlone(model::RankId rank);

  Instant Compute(model::RankId rank, Instant start, SimDuration nominal);
  // The host thread gets to its next action.
  Instant Enqueue(model::RankId rank);
  Logged Log(model::RankId rank, Axis axis, SimulatedOperation operation);
  Logged LogPair(model::RankId rank, PipelineDirection direction, bool sends, model::RankId peer);
  void SetInstants(const Logged& logged, Instant started, Instant finished);
  bool IsDue(uint32_t every) const { return every > 0 && (iteration_ends_.size() + 1) % every == 0; }
  RankState& At(model::RankId rank) { return states_[rank.index()]; }

  JobShape shape_;
  CommunicatorIds ids_;
  FaultEffects* effects_;
  TransferSimulator* simulator_;
  OperationLog* log_;
  JobNoise noise_;
  std::vector<PipelineTask> tasks_;
  std::vector<GradientExchange> exchanges_;
  JobRoutes routes_;
  std::array<std::vector<std::deque<PendingSend>>, 2> pending_sends_;  // [PipelineDirection][sender]
  std::vector<RankState> states_;                                      // [rank]
  std::vector<Instant> ends_;                                          // [rank]
  std::vector<Instant> iteration_ends_;
  Members members_;
};

}  // namespace fairlead::execution
