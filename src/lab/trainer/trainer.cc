#include "lab/trainer/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/steady_seconds.h"
#include "lab/trainer/checkpoint.h"
#include "lab/trainer/data_mover.h"
#include "lab/trainer/iteration_state.h"
#include "lab/trainer/phase_order.h"
#include "lab/trainer/trainer_control.h"

namespace fairlead::lab {

namespace {

// Longest sleep of what a signal ends.
constexpr double kSleepMax = 0.1;

// One worker's iterations: what its plan and its operator want, in which order, and who hears of it.
class Worker {
 public:
  Worker(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const TrainOptions& options)
      : stop_(stop),
        control_(options.control),
        observer_(options.observer),
        records_phases_(options.records_phases),
        order_(plan),
        data_(plan, order_, std::move(connections), options.observer) {}

  struct Outcome {
    bool is_over = false;  // false: stopped, or a peer was lost
    std::string record;    // of the iteration; empty: nothing is recorded of one that did not end
  };

  Outcome RunIteration(uint64_t index) {
    const double begin_s = SteadySeconds();
    const TrainerRequests& requests = control_.Look();
    order_.Begin(index, requests.bad_order);
    IterationState state(
        order_.plan(), begin_s,
        {.at_begin_s = requests.loader_s + control_.TakePause(), .before_each_phase_s = requests.busy_s});
    num_called_ = num_begun_ = num_ended_ = 0;
    FollowPhases(&state);
    while (!state.is_over()) {
      if (stop_ || !data_.MoveData(&state)) return Unfinished(index, begin_s, &state);
      const double now_s = SteadySeconds();
      Advance(now_s, &state);
      if (state.is_over()) break;
      if (!data_.Sleep(state, now_s)) return Unfinished(index, begin_s, &state);
      Advance(SteadySeconds(), &state);
    }
    return {.is_over = true, .record = RecordOf("iteration", index, begin_s, SteadySeconds(), state)};
  }

  bool Drain() { return data_.Drain(stop_); }
  const DataMover& data() const { return data_; }

 private:
  // ---- Records ----

  Outcome Unfinished(uint64_t index, double begin_s, IterationState* state) {
    if (!records_phases_) return {};
    const double end_s = SteadySeconds();
    state->Advance(end_s);
    return {.is_over = false, .record = RecordOf("unfinished", index, begin_s, end_s, *state)};
  }

  std::string RecordOf(std::string_view key, uint64_t index, double begin_s, double end_s,
                       const IterationState& state) const {
    std::string record = fmt::format(R"({{"{}": {}, "begin_s": {:.6f}, "seconds": {:.6f}, "exposed_s": {:.6f})", key,
                                     index, begin_s, end_s - begin_s, std::max(0.0, state.exposed_s(end_s)));
    if (records_phases_) record += PhasesOf(begin_s, end_s, state);
    return record + "}";
  }

  std::string PhasesOf(double begin_s, double end_s, const IterationState& state) const {
    std::string text = R"(, "phases": [)";
    const char* gap = "";
    for (size_t p = 0; p < state.phase_spans().size(); ++p, gap = ", ") {
      const TimeSpan& span = state.phase_spans()[p];
      const double to_s = state.phase_runs() && p == state.phase() ? end_s : span.to_s;
      text += fmt::format("{}[{}, {:.6f}, {:.6f}]", gap, order_[p], span.from_s - begin_s, to_s - begin_s);
    }
    text += R"(], "stalls": [)";
    gap = "";
    for (const TimeSpan& span : state.stalls()) {
      text += fmt::format("{}[{:.6f}, {:.6f}]", gap, span.from_s - begin_s, span.to_s - begin_s);
      gap = ", ";
    }
    return text + "]";
  }

  // ---- Phases ----

  void Advance(double now_s, IterationState* state) {
    state->Advance(now_s);
    FollowPhases(state);
  }

  // Looks for new requests before each phase, and reports phases.
  void FollowPhases(IterationState* state) {
    if (num_called_ < state->num_reached()) {
      const TrainerRequests& requests = control_.Look();
      state->SetComputeBeforeEachPhase(requests.busy_s);
      state->Delay(control_.TakePause());
    }
    for (; num_called_ < state->num_reached(); ++num_called_) {
      if (observer_ != nullptr) observer_->OnCalled(order_.iteration(), order_[num_called_]);
    }
    EndPhases(*state);
    if (!state->phase_runs() || num_begun_ > state->phase()) return;
    num_begun_ = state->phase() + 1;
    MessageTransport* messages = data_.messages();
    if (messages == nullptr) return;
    observer_->OnBegan(order_.iteration(), order_[state->phase()]);
    messages->BeginPhase(order_.iteration(), order_[state->phase()], state);
  }

  void EndPhases(const IterationState& state) {
    if (data_.messages() != nullptr && num_ended_ < num_begun_ && num_begun_ <= state.phase()) {
      data_.messages()->EndPhase();
    }
    num_ended_ = std::max(num_ended_, std::min(num_begun_, state.phase()));
  }

  const std::atomic<bool>& stop_;
  TrainerControl control_;
  CollectiveObserver* observer_;
  const bool records_phases_;
  PhaseOrder order_;
  DataMover data_;
  size_t num_called_ = 0;  // phases of the iteration
  size_t num_begun_ = 0;
  size_t num_ended_ = 0;
};

// Sleeps in pieces, so that a signal ends it.
void SleepFor(double seconds, const std::atomic<bool>& stop) {
  const double end_s = SteadySeconds() + seconds;
  for (double now_s = SteadySeconds(); now_s < end_s && !stop; now_s = SteadySeconds()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(kSleepMax, end_s - now_s)));
  }
}

}  // namespace

Status Train(const TrainerPlan& plan, Connections connections, const std::atomic<bool>& stop, const RecordSink& record,
             const TrainOptions& options) {
  FL_CHECK(connections.size() == plan.connections.size());
  SleepFor(plan.start_s, stop);
  Worker worker(plan, std::move(connections), stop, options);
  uint64_t done = options.first_iteration;
  Status kept;
  while (kept.ok() && (plan.iterations == 0 || done < plan.iterations)) {
    const auto outcome = worker.RunIteration(done);
    if (!outcome.record.empty()) record(outcome.record);
    if (!outcome.is_over) break;
    if (options.gpus != nullptr) options.gpus->Add(plan.work_flop, plan.compute_s);
    ++done;
    kept = KeepCheckpoint(plan, done, options.checkpoint_wanted);
  }
  const bool is_done = kept.ok() && plan.iterations != 0 && done >= plan.iterations && worker.Drain();
  if (!is_done && kept.ok() && !stop) SleepFor(options.lost_peer_grace_s, stop);
  record(fmt::format(R"({{"end": "{}", "iterations": {}, "sent_bytes": {}, "received_bytes": {}}})",
                     is_done      ? "done"
                     : !kept.ok() ? "failed"
                     : stop       ? "stopped"
                                  : "peer lost",
                     done, worker.data().sent_bytes(), worker.data().received_bytes()));
  if (!kept.ok()) return kept;
  return is_done || stop ? OkStatus() : Unavailable(worker.data().lost_peer());
}

}  // namespace fairlead::lab
