#include "service/streams/controller_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::service {
namespace {

using controller::TrafficOutput;

SimTime Now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return SimTime(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
}

std::vector<store::Change> RecordsOf(std::span<const TrafficOutput> outputs) {
  std::vector<store::Change> changes;
  for (const TrafficOutput& output : outputs) {
    if (const auto* record = std::get_if<controller::RecordChanged>(&output)) {
      changes.push_back({record->key, record->value});
    }
  }
  return changes;
}

}  // namespace

ControllerLoop::ControllerLoop(const ControllerLoopOptions& options, Handler handler, Listener listener,
                               store::Store& store, ControllerServer& server, Watcher watcher)
    : options_(options),
      handler_(std::move(handler)),
      listener_(std::move(listener)),
      watcher_(std::move(watcher)),
      store_(store),
      server_(server),
      thread_([this] { Run(); }) {}

ControllerLoop::~ControllerLoop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  server_.Wake();
  thread_.join();
}

void ControllerLoop::Run() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_ && questions_.empty()) return;
    }
    AnswerQuestions();
    // Messages that are not kept yet hold up all that comes after them.
    if (outputs_.empty() || CarryOut()) {
      HandleBatch();
    } else {
      server_.Serve(options_.tick);
    }
  }
}

void ControllerLoop::HandleBatch() {
  std::vector<controller::TrafficInput> inputs = server_.TakeInputs(options_.tick);
  {
    const std::lock_guard lock(mutex_);
    std::move(inputs_.begin(), inputs_.end(), std::back_inserter(inputs));
    inputs_.clear();
  }
  clock_ = Now();
  const auto start = std::chrono::steady_clock::now();
  outputs_ = handler_(clock_, inputs);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  {
    const std::lock_guard lock(mutex_);
    if (!inputs.empty()) ++counters_.batches;
    counters_.inputs += inputs.size();
    counters_.handling += Seconds(took.count());
  }
  CarryOut();
}

bool ControllerLoop::CarryOut() {
  const std::vector<store::Change> changes = RecordsOf(outputs_);
  const Status status = changes.empty() ? OkStatus() : store_.Apply(changes);
  {
    const std::lock_guard lock(mutex_);
    store_status_ = status;
    (status.ok() ? counters_.records_changed : counters_.store_failures) += status.ok() ? changes.size() : 1;
  }
  if (!status.ok()) return false;
  for (TrafficOutput& output : outputs_) {
    if (const auto* send = std::get_if<controller::SendToStream>(&output)) server_.Queue(send->stream, send->message);
    if (const auto* end = std::get_if<controller::EndStream>(&output)) server_.End(end->stream);
    if (const auto* noted = std::get_if<controller::Noted>(&output)) listener_(clock_, *noted);
    if (!watcher_) continue;
    if (auto* looked = std::get_if<controller::ProcessesLooked>(&output)) watcher_(std::move(*looked));
    if (auto* answered = std::get_if<controller::HostsAnswered>(&output)) watcher_(std::move(*answered));
    if (auto* answer = std::get_if<controller::SlowEndAnswer>(&output)) watcher_(*answer);
  }
  server_.Flush();
  outputs_.clear();
  return true;
}

void ControllerLoop::AnswerQuestions() {
  std::unique_lock lock(mutex_);
  while (!questions_.empty()) {
    const std::function<void()>* question = questions_.front();
    lock.unlock();
    (*question)();
    lock.lock();
    questions_.pop_front();
    answered_.notify_all();
  }
}

void ControllerLoop::Ask(const std::function<void()>& question) {
  std::unique_lock lock(mutex_);
  questions_.push_back(&question);
  server_.Wake();
  answered_.wait(lock, [&] { return std::find(questions_.begin(), questions_.end(), &question) == questions_.end(); });
}

void ControllerLoop::Put(controller::TrafficInput input) {
  {
    const std::lock_guard lock(mutex_);
    inputs_.push_back(std::move(input));
  }
  server_.Wake();
}

Status ControllerLoop::store_status() const {
  const std::lock_guard lock(mutex_);
  return store_status_;
}

LoopCounters ControllerLoop::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace fairlead::service
