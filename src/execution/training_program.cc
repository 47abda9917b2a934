#include "execution/training_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace fairlead::execution {

namespace {

using model::CommunicatorId;
using model::OperationKind;
using model::RankId;

Instant Scaled(SimDuration duration, double factor) {
  return static_cast<Instant>(std::llround(static_cast<double>(duration.ns()) * factor));
}

}  // namespace

TrainingProgram::TrainingProgram(const JobShape& shape, const NoiseOptions& noise, const model::JobLayout* layout,
                                 FaultEffects* effects, TransferSimulator* simulator, OperationLog* log, uint64_t seed)
    : shape_(shape),
      noise_(noise),
      ids_(shape),
      layout_(layout),
      effects_(effects),
      simulator_(simulator),
      log_(log),
      compute_noise_(noise.compute_cv, CombineHash(seed, 3)),
      loading_noise_(noise.loading_cv, CombineHash(seed, 4)),
      hiccup_random_(CombineHash(seed, 8)),
      tasks_(PipelineTasks(shape)),
      states_(shape.NumRanks()),
      ends_(shape.NumRanks(), 0) {
  NoiseTable gpu_noise(noise.gpu_cv, CombineHash(seed, 9));
  for (uint32_t r = 0; r < shape.NumRanks(); ++r) gpu_factors_.push_back(gpu_noise.Next());
  // Bucket b is b + 1 parts of the gradients: neighbours in the order differ in size, as they do in real models.
  const uint64_t buckets = shape.gradient_buckets;
  for (uint64_t b = 0; b < buckets && shape.data_parallel > 1; ++b) {
    const uint64_t bytes = shape.gradient_bytes * 2 * (b + 1) / (buckets * (buckets + 1));
    switch (shape.algorithm) {
      case DataParallelAlgorithm::kShardedRing:
        exchanges_.push_back({OperationKind::kReduceScatter, bytes});
        exchanges_.push_back({OperationKind::kAllGather, bytes});
        break;
      case DataParallelAlgorithm::kAllToAll:
        exchanges_.push_back({OperationKind::kAllToAll, bytes});
        break;
      case DataParallelAlgorithm::kRing:
      case DataParallelAlgorithm::kTree:
        exchanges_.push_back({OperationKind::kAllReduce, bytes});
    }
  }
  MakeRoutes();
}

void TrainingProgram::MakeRoutes() {
  for (auto& pending : pending_sends_) pending.resize(shape_.NumRanks());
  for (auto& routes : stage_routes_) routes.resize(shape_.NumRanks());
  if (shape_.data_parallel > 1) {
    for (uint32_t group = 0; group < shape_.tensor_parallel * shape_.pipeline_parallel; ++group) {
      const CommunicatorId id(ids_.first_data + group);
      const std::vector<RankId>& ranks = layout_->communicators[id.index()].ranks;
      data_routes_.push_back(simulator_->MakeRoute(id, ranks, DataParallelPattern(shape_, ranks)));
    }
  }
  for (uint32_t tensor = 0; tensor < shape_.tensor_parallel && shape_.opening_bytes > 0; ++tensor) {
    if (shape_.data_parallel < 2) break;
    const CommunicatorId id(ids_.first_data + tensor);
    const std::vector<RankId>& ranks = layout_->communicators[id.index()].ranks;
    opening_routes_.push_back(simulator_->MakeRoute(id, ranks, OpeningPattern(shape_, ranks)));
  }
  const uint32_t ranks_of_stage = shape_.tensor_parallel * shape_.data_parallel;
  for (uint32_t r = 0; r + ranks_of_stage < shape_.NumRanks(); ++r) {
    const RankId upper(r);
    const RankId lower(r + ranks_of_stage);
    const CommunicatorId id = ids_.Pipeline(upper);
    stage_routes_[kForward][upper.index()] = simulator_->MakeRoute(id, {upper, lower}, PairPattern(shape_));
    stage_routes_[kBackward][lower.index()] = simulator_->MakeRoute(id, {lower, upper}, PairPattern(shape_));
  }
}

Instant TrainingProgram::Frontier() const { return *std::ranges::min_element(ends_); }

void TrainingProgram::SimulateIteration() {
  if (HasEnded()) return;
  BeginIteration();
  for (const Route& route : opening_routes_) SimulateOpening(route);
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
    const double factor = loading_noise_.Next() * effects_->LoadingFactor(rank, begin);
    state.host = IsNever(begin) ? kNever : begin + Scaled(shape_.loading_time, factor);
    if (hiccup_random_.Uniform() < noise_.hiccup) {
      state.host += Scaled(noise_.hiccup_mean, hiccup_random_.Exponential(1));
    }
    state.stream = ends_[r];
    state.send_stream = {ends_[r], ends_[r]};
    state.receive_stream = {ends_[r], ends_[r]};
  }
}

// One launch of a rank's sends and receives, which ends when all data have come and gone.
void TrainingProgram::SimulateOpening(const Route& route) {
  const size_t n = route.ranks.size();
  starts_.assign(n, 0);
  finishes_.assign(n, 0);
  logged_.clear();
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
        logged_.push_back(Log(rank, kData, operation));
      }
    }
    starts_[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
  }
  Transfer transfer;
  transfer.messages = shape_.messages_per_pair;
  transfer.bytes_per_message = static_cast<double>(shape_.opening_bytes) / shape_.messages_per_pair;
  transfer.starts = starts_;
  simulator_->Simulate(route, transfer, finishes_);
  for (size_t o = 0; o < logged_.size(); ++o) {
    const size_t i = o / (2 * (n - 1));
    SetInstants(logged_[o], starts_[i], finishes_[i]);
  }
  for (size_t i = 0; i < n; ++i) At(route.ranks[i]).stream = finishes_[i];
}

Instant TrainingProgram::Enqueue(RankId rank) {
  Instant& host = At(rank).host;
  host = effects_->Process(rank, host);
  return host;
}

Instant TrainingProgram::Compute(RankId rank, Instant start, SimDuration nominal) {
  start = effects_->Gpu(rank, start);
  if (IsNever(start)) return kNever;
  double factor = gpu_factors_[rank.index()] * compute_noise_.Next() * effects_->ComputeFactor(rank, start);
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
  simulator_->Simulate(stage_routes_[direction][sender.index()], transfer, finishes);
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
    starts_.assign(n, 0);
    logged_.assign(n, std::nullopt);
    for (uint32_t i = 0; i < n; ++i) {
      const RankId rank(group + i);
      SimulatedOperation operation;
      operation.communicator = ids_.Tensor(rank);
      operation.kind = OperationKind::kAllReduce;
      operation.bytes = shape_.activation_bytes;
      operation.enqueued = Enqueue(rank);
      logged_[i] = Log(rank, kTensor, operation);
      starts_[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
      together = std::max(together, effects_->Nvlink(rank, starts_[i]));
    }
    const double factor = compute_noise_.Next();
    const Instant finish = IsNever(together) ? kNever : together + Scaled(shape_.tensor_operation_time, factor);
    for (uint32_t i = 0; i < n; ++i) {
      const RankId rank(group + i);
      At(rank).stream = effects_->Gpu(rank, finish);
      SetInstants(logged_[i], starts_[i], At(rank).stream);
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

TrainingProgram::Exchange TrainingProgram::ExchangeOf(RankId rank, size_t exchange) const {
  const std::optional<FaultKind> mistake = states_[rank.index()].mistake;
  if (mistake == FaultKind::kWrongOrder && exchange < 2) return exchanges_[1 - exchange];
  Exchange mine = exchanges_[exchange];
  if (mistake == FaultKind::kWrongSize && exchange == 0) mine.bytes /= 2;
  return mine;
}

Transfer TrainingProgram::TransferOf(const Exchange& exchange) const {
  const auto bytes = static_cast<double>(exchange.bytes);
  const uint32_t n = shape_.data_parallel;
  Transfer transfer;
  switch (shape_.algorithm) {
    case DataParallelAlgorithm::kRing:
      transfer.messages = 2 * (n - 1) * shape_.messages_per_ring_step;
      transfer.bytes_per_message = bytes / shape_.channels / n / shape_.messages_per_ring_step;
      break;
    case DataParallelAlgorithm::kShardedRing:
      transfer.messages = (n - 1) * shape_.messages_per_ring_step;
      transfer.bytes_per_message = bytes / shape_.channels / n / shape_.messages_per_ring_step;
      break;
    case DataParallelAlgorithm::kTree:
      transfer.messages = shape_.messages_per_tree_edge;
      transfer.bytes_per_message = bytes / shape_.channels / shape_.messages_per_tree_edge;
      break;
    case DataParallelAlgorithm::kAllToAll:
      transfer.messages = shape_.messages_per_pair;
      transfer.bytes_per_message = bytes / n / shape_.messages_per_pair;
      break;
  }
  return transfer;
}

void TrainingProgram::SimulateExchange(uint32_t tensor, uint32_t stage, size_t exchange) {
  const Route& route = data_routes_[tensor + shape_.tensor_parallel * stage];
  const size_t n = route.ranks.size();
  Transfer transfer = TransferOf(exchanges_[exchange]);
  starts_.assign(n, 0);
  finishes_.assign(n, 0);
  logged_.assign(n, std::nullopt);
  for (size_t i = 0; i < n; ++i) {
    const RankId rank = route.ranks[i];
    const Exchange mine = ExchangeOf(rank, exchange);
    if (exchange == 0 && At(rank).mistake == FaultKind::kCrossedOrder) EnterBarrierAlone(rank);
    SimulatedOperation operation;
    operation.communicator = ids_.Data(rank);
    operation.kind = mine.kind;
    operation.bytes = mine.bytes;
    operation.enqueued = Enqueue(rank);
    logged_[i] = Log(rank, kData, operation);
    starts_[i] = effects_->Gpu(rank, std::max(operation.enqueued, At(rank).stream));
    const bool is_short = At(rank).mistake == FaultKind::kWrongSize || At(rank).mistake == FaultKind::kWrongOrder;
    if (is_short && exchange == 0) transfer.short_member = static_cast<MemberIndex>(i);
  }
  transfer.starts = starts_;
  simulator_->Simulate(route, transfer, finishes_);
  for (size_t i = 0; i < n; ++i) {
    At(route.ranks[i]).stream = finishes_[i];
    SetInstants(logged_[i], starts_[i], finishes_[i]);
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
    for (Instant& end : ends_) end += IsNever(end) ? 0 : Scaled(shape_.pause_time, loading_noise_.Next());
  }
  iteration_ends_.push_back(*std::ranges::max_element(ends_));
}

void TrainingProgram::WriteCheckpoint() {
  for (uint32_t r = 0; r < states_.size(); ++r) {
    const RankId rank(r);
    if (shape_.DataOf(rank) != 0 || IsNever(ends_[r])) continue;
    const Instant stall = effects_->CheckpointStall(rank, ends_[r]).ns();
    At(rank).host = ends_[r] + Scaled(shape_.checkpoint_time, loading_noise_.Next()) + stall;
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
  starts_.assign(n, 0);
  logged_.assign(n, std::nullopt);
  for (uint32_t r = 0; r < n; ++r) {
    const RankId rank(r);
    SimulatedOperation operation;
    operation.communicator = ids_.All();
    operation.kind = OperationKind::kBarrier;
    operation.enqueued = Enqueue(rank);
    logged_[r] = Log(rank, kAll, operation);
    starts_[r] = effects_->Gpu(rank, operation.enqueued);
  }
  const auto hops = static_cast<Instant>(2 * std::bit_width(n));
  const Instant together = *std::ranges::max_element(starts_);
  const Instant finish = IsNever(together) ? kNever : together + hops * shape_.latency.ns();
  for (uint32_t r = 0; r < n; ++r) {
    const RankId rank(r);
    const Instant mine = effects_->Gpu(rank, finish);
    SetInstants(logged_[r], starts_[r], mine);
    ends_[r] = effects_->Process(rank, mine);
  }
}

}  // namespace fairlead::execution
