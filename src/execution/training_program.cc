#include "execution/training_program.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fairlead::execution {

namespace {

using model::OperationKind;
using model::RankId;

}  // namespace

TrainingProgram::TrainingProgram(const JobShape& shape, const NoiseOptions& noise, const model::JobLayout* layout,
                                 FaultEffects* effects, TransferSimulator* simulator, OperationLog* log, uint64_t seed)
    : shape_(shape),
      ids_(shape),
      effects_(effects),
      simulator_(simulator),
      log_(log),
      noise_(noise, shape.NumRanks(), seed),
      tasks_(PipelineTasks(shape)),
      exchanges_(GradientExchangesOf(shape)),
      routes_(MakeJobRoutes(shape, *layout, simulator)),
      states_(shape.NumRanks()),
      ends_(shape.NumRanks(), 0) {
  for (auto& pending : pending_sends_) pending.resize(shape.NumRanks());
}

Instant TrainingProgram::Frontier() const { return *std::ranges::min_element(ends_); }

void TrainingProgram::SimulateIteration() {
  if (HasEnded()) return;
  BeginIteration();
  for (const Route& route : routes_.opening) SimulateOpening(route);
  for (const PipelineTask& task : tasks_) PlayTask(task);
  ExchangeGradients();
  EndIteration();
}

void TrainingProgram::BeginIteration() {
  for (uint32_t r = 0; r < states_.size(); ++r) {
    const RankId rank(r);
    RankState& state = At(rank);
    const Instant begin = effects_->Process(rank, ends_[r]);
    state.mistake = IsNever(begin) ? std::nullopt : effects_->Mistake(rank, begin);
    const double factor = noise_.LoadingFactor() * effects_->LoadingFactor(rank, begin);
    state.host = IsNever(begin) ? kNever : begin + Scaled(shape_.loading_time, factor);
    state.host += noise_.Hiccup().ns();
    state.stream = ends_[r];
    state.send_stream = {ends_[r], ends_[r]};
    state.receive_stream = {ends_[r], ends_[r]};
  }
}

// One launch of a rank's sends and receives, which ends when all data have come and gone.
void TrainingProgram::SimulateOpening(const Route& route) {
  const size_t n = route.ranks.size();
  members_.starts.assign(n, 0);
  members_.finishes.assign(n, 0);
  members_.logged.clear();
  for (size_t i = 0; i < n; ++i) {
    const RankId rank = route.ranks[i];
    SimulatedOperation operation;
    operation.communicator = ids_.Data(rank);
    operation.bytes = shape_.opening_bytes;
    operation.sequence = iteration_ends_.size();
    operation.enqueued = Enqueue(rank);
    for (const RankId peer : route.ranks) {
      if (peer == rank) continue;
      operation.peer = peer;
      for (const OperationKind kind : {OperationKind::kSend, OperationKind::kReceive}) {
        operation.kind = kind;
        members_.logged.push_back(Log(rank, kData, operation));
      }
    }
    members_.starts[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
  }
  Transfer transfer;
  transfer.messages = shape_.messages_per_pair;
  transfer.bytes_per_message = static_cast<double>(shape_.opening_bytes) / shape_.messages_per_pair;
  transfer.starts = members_.starts;
  simulator_->Simulate(route, transfer, members_.finishes);
  for (size_t o = 0; o < members_.logged.size(); ++o) {
    const size_t i = o / (2 * (n - 1));
    SetInstants(members_.logged[o], members_.starts[i], members_.finishes[i]);
  }
  for (size_t i = 0; i < n; ++i) At(route.ranks[i]).stream = members_.finishes[i];
}

Instant TrainingProgram::Enqueue(RankId rank) {
  Instant& host = At(rank).host;
  host = effects_->Process(rank, host);
  return host;
}

Instant TrainingProgram::Compute(RankId rank, Instant start, SimDuration nominal) {
  start = effects_->Gpu(rank, start);
  if (IsNever(start)) return kNever;
  double factor = noise_.ComputeFactor(rank) * effects_->ComputeFactor(rank, start);
  if (iteration_ends_.size() < shape_.warm_up_iterations) factor *= shape_.warm_up_factor;
  return effects_->Gpu(rank, start + Scaled(nominal, factor));
}

TrainingProgram::Logged TrainingProgram::Log(RankId rank, Axis axis, SimulatedOperation operation) {
  RankState& state = At(rank);
  if (IsNever(operation.enqueued)) return std::nullopt;
  operation.issue_index = state.issued[axis]++;
  state.host += shape_.call_time.ns();
  const bool is_pair = IsTransfer(operation.kind);
  if (!is_pair) operation.sequence = state.sequences[axis][static_cast<size_t>(operation.kind)]++;
  return log_->Add(rank, operation);
}

void TrainingProgram::SetInstants(const Logged& logged, Instant started, Instant finished) {
  if (!logged.has_value()) return;
  SimulatedOperation& operation = (*log_)[*logged];
  operation.started = started;
  operation.finished = finished;
}

TrainingProgram::Logged TrainingProgram::LogPair(RankId rank, PipelineDirection direction, bool sends, RankId peer) {
  RankState& state = At(rank);
  SimulatedOperation operation;
  operation.communicator = ids_.Pipeline(rank);
  operation.kind = sends ? OperationKind::kSend : OperationKind::kReceive;
  operation.bytes = shape_.activation_bytes;
  operation.peer = peer;
  operation.enqueued = Enqueue(rank);
  if (IsNever(operation.enqueued)) return std::nullopt;
  operation.sequence = sends ? state.sends[direction]++ : state.receives[direction]++;
  return Log(rank, kPipeline, operation);
}

void TrainingProgram::PlayTask(const PipelineTask& task) {
  const uint32_t ranks_of_stage = shape_.tensor_parallel * shape_.data_parallel;
  const uint32_t first = task.stage * ranks_of_stage;
  for (uint32_t r = first; r < first + ranks_of_stage; ++r) ReceiveAndCompute(task, RankId(r));
  if (shape_.tensor_parallel > 1) ReduceTensors(task);
  const bool sends = task.is_forward ? task.stage + 1 < shape_.pipeline_parallel : task.stage > 0;
  if (!sends) return;
  for (uint32_t r = first; r < first + ranks_of_stage; ++r) {
    SendToStage(RankId(r), task.is_forward ? kForward : kBackward);
  }
}

void TrainingProgram::ReceiveAndCompute(const PipelineTask& task, RankId rank) {
  RankState& state = At(rank);
  const bool receives = task.is_forward ? task.stage > 0 : task.stage + 1 < shape_.pipeline_parallel;
  Instant ready = std::max(state.stream, Enqueue(rank));
  if (receives) ready = std::max(ready, ReceiveFromStage(rank, task.is_forward ? kForward : kBackward));
  const SimDuration nominal = task.is_forward ? shape_.forward_time : shape_.backward_time;
  state.host += Scaled(nominal, shape_.enqueue_share);
  state.stream = Compute(rank, ready, nominal);
}

Instant TrainingProgram::ReceiveFromStage(RankId rank, PipelineDirection direction) {
  const uint32_t ranks_of_stage = shape_.tensor_parallel * shape_.data_parallel;
  const RankId sender(direction == kForward ? rank.value() - ranks_of_stage : rank.value() + ranks_of_stage);
  const Logged received = LogPair(rank, direction, /*sends=*/false, sender);
  auto& pending = pending_sends_[direction][sender.index()];
  const PendingSend send = pending.front();
  pending.pop_front();

  Instant& send_stream = At(sender).send_stream[direction];
  Instant& receive_stream = At(rank).receive_stream[direction];
  const std::array<Instant, 2> starts = {
      effects_->Gpu(sender, std::max(send.ready, send_stream)),
      effects_->Gpu(rank, std::max(At(rank).host, receive_stream)),
  };
  std::array<Instant, 2> finishes = {};
  Transfer transfer;
  transfer.messages = shape_.messages_per_pair;
  transfer.bytes_per_message =
      static_cast<double>(shape_.activation_bytes) / shape_.channels / shape_.messages_per_pair;
  transfer.starts = starts;
  simulator_->Simulate(routes_.stage[direction][sender.index()], transfer, finishes);
  SetInstants(send.logged, starts[0], finishes[0]);
  SetInstants(received, starts[1], finishes[1]);
  send_stream = finishes[0];
  receive_stream = finishes[1];
  return finishes[1];
}

void TrainingProgram::SendToStage(RankId rank, PipelineDirection direction) {
  const uint32_t ranks_of_stage = shape_.tensor_parallel * shape_.data_parallel;
  const RankId receiver(direction == kForward ? rank.value() + ranks_of_stage : rank.value() - ranks_of_stage);
  PendingSend send;
  send.logged = LogPair(rank, direction, /*sends=*/true, receiver);
  send.ready = std::max(At(rank).host, At(rank).stream);
  pending_sends_[direction][rank.index()].push_back(send);
}

void TrainingProgram::ReduceTensors(const PipelineTask& task) {
  const uint32_t n = shape_.tensor_parallel;
  const uint32_t first = task.stage * n * shape_.data_parallel;
  for (uint32_t group = first; group < first + n * shape_.data_parallel; group += n) {
    Instant together = 0;
    members_.starts.assign(n, 0);
    members_.logged.assign(n, std::nullopt);
    for (uint32_t i = 0; i < n; ++i) {
      const RankId rank(group + i);
      SimulatedOperation operation;
      operation.communicator = ids_.Tensor(rank);
      operation.kind = OperationKind::kAllReduce;
      operation.bytes = shape_.activation_bytes;
      operation.enqueued = Enqueue(rank);
      members_.logged[i] = Log(rank, kTensor, operation);
      members_.starts[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
      together = std::max(together, effects_->Nvlink(rank, members_.starts[i]));
    }
    const double factor = noise_.CollectiveFactor();
    const Instant finish = IsNever(together) ? kNever : together + Scaled(shape_.tensor_operation_time, factor);
    for (uint32_t i = 0; i < n; ++i) {
      const RankId rank(group + i);
      At(rank).stream = effects_->Gpu(rank, finish);
      SetInstants(members_.logged[i], members_.starts[i], At(rank).stream);
    }
  }
}

void TrainingProgram::ExchangeGradients() {
  for (size_t exchange = 0; exchange < exchanges_.size(); ++exchange) {
    for (uint32_t stage = 0; stage < shape_.pipeline_parallel; ++stage) {
      for (uint32_t tensor = 0; tensor < shape_.tensor_parallel; ++tensor) SimulateExchange(tensor, stage, exchange);
    }
  }
}

GradientExchange TrainingProgram::ExchangeOf(RankId rank, size_t exchange) const {
  const std::optional<FaultKind> mistake = states_[rank.index()].mistake;
  if (mistake == FaultKind::kWrongOrder && exchange < 2) return exchanges_[1 - exchange];
  GradientExchange mine = exchanges_[exchange];
  if (mistake == FaultKind::kWrongSize && exchange == 0) mine.bytes /= 2;
  return mine;
}

void TrainingProgram::SimulateExchange(uint32_t tensor, uint32_t stage, size_t exchange) {
  const Route& route = routes_.data[tensor + shape_.tensor_parallel * stage];
  const size_t n = route.ranks.size();
  Transfer transfer = TransferOf(shape_, exchanges_[exchange]);
  members_.starts.assign(n, 0);
  members_.finishes.assign(n, 0);
  members_.logged.assign(n, std::nullopt);
  for (size_t i = 0; i < n; ++i) {
    const RankId rank = route.ranks[i];
    const GradientExchange mine = ExchangeOf(rank, exchange);
    if (exchange == 0 && At(rank).mistake == FaultKind::kCrossedOrder) EnterBarrierAlone(rank);
    SimulatedOperation operation;
    operation.communicator = ids_.Data(rank);
    operation.kind = mine.kind;
    operation.bytes = mine.bytes;
    operation.enqueued = Enqueue(rank);
    members_.logged[i] = Log(rank, kData, operation);
    members_.starts[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
    const bool is_short = At(rank).mistake == FaultKind::kWrongSize || At(rank).mistake == FaultKind::kWrongOrder;
    if (is_short && exchange == 0) transfer.short_member = static_cast<MemberIndex>(i);
  }
  transfer.starts = members_.starts;
  simulator_->Simulate(route, transfer, members_.finishes);
  for (size_t i = 0; i < n; ++i) {
    At(route.ranks[i]).stream = members_.finishes[i];
    SetInstants(members_.logged[i], members_.starts[i], members_.finishes[i]);
  }
}

void TrainingProgram::EndIteration() {
  for (uint32_t r = 0; r < states_.size(); ++r) {
    const RankId rank(r);
    RankState& state = At(rank);
    state.stream = Compute(rank, std::max(state.stream, Enqueue(rank)), shape_.optimizer_time);
    // Sends that are not received hold up the rank, too.
    for (const Instant stream : state.send_stream) state.stream = std::max(state.stream, stream);
    ends_[r] = effects_->Process(rank, state.stream);
    state.host = ends_[r];
  }
  if (IsDue(shape_.checkpoint_every)) WriteCheckpoint();
  if (IsDue(shape_.pause_every)) {
    for (Instant& end : ends_) end += IsNever(end) ? 0 : Scaled(shape_.pause_time, noise_.LoadingFactor());
  }
  iteration_ends_.push_back(*std::ranges::max_element(ends_));
}

void TrainingProgram::WriteCheckpoint() {
  for (uint32_t r = 0; r < states_.size(); ++r) {
    const RankId rank(r);
    if (shape_.DataOf(rank) != 0 || IsNever(ends_[r])) continue;
    const Instant stall = effects_->CheckpointStall(rank, ends_[r]).ns();
    At(rank).host = ends_[r] + Scaled(shape_.checkpoint_time, noise_.LoadingFactor()) + stall;
  }
  SimulateBarrier();
}

void TrainingProgram::EnterBarrierAlone(RankId rank) {
  SimulatedOperation operation;
  operation.communicator = ids_.All();
  operation.kind = OperationKind::kBarrier;
  operation.enqueued = Enqueue(rank);
  const Logged logged = Log(rank, kAll, operation);
  SetInstants(logged, effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream)), kNever);
  At(rank).stream = kNever;
}

void TrainingProgram::SimulateBarrier() {
  const size_t n = states_.size();
  members_.starts.assign(n, 0);
  members_.logged.assign(n, std::nullopt);
  for (uint32_t r = 0; r < n; ++r) {
    const RankId rank(r);
    SimulatedOperation operation;
    operation.communicator = ids_.All();
    operation.kind = OperationKind::kBarrier;
    operation.enqueued = Enqueue(rank);
    members_.logged[r] = Log(rank, kAll, operation);
    members_.starts[r] = effects_->Gpu(rank, operation.enqueued);
  }
  const auto hops = static_cast<Instant>(2 * std::bit_width(n));
  const Instant together = *std::ranges::max_element(members_.starts);
  const Instant finish = IsNever(together) ? kNever : together + hops * shape_.latency.ns();
  for (uint32_t r = 0; r < n; ++r) {
    const RankId rank(r);
    const Instant mine = effects_->Gpu(rank, finish);
    SetInstants(members_.logged[r], members_.starts[r], mine);
    ends_[r] = effects_->Process(rank, mine);
  }
}

}  // namespace fairlead::execution
