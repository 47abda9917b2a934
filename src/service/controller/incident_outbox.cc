#include "service/controller/incident_outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fairlead::service {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kOutboxPrefix = "otlp/";

std::string KeyOf(const std::string& trace) { return std::string(kOutboxPrefix) + trace; }

// Beyond what clocks can hold it is the longest anyway.
std::chrono::milliseconds Limited(double seconds, std::chrono::milliseconds longest) {
  const double most = static_cast<double>(longest.count());
  return std::chrono::milliseconds(static_cast<int64_t>(std::clamp(seconds * 1e3, 0.0, most)));
}

}  // namespace

class IncidentOutbox::Impl {
 public:
  Impl(const IncidentOutboxOptions& options, Surroundings surroundings, store::Store* store)
      : options_(options), surroundings_(std::move(surroundings)), store_(*store), delay_(options.delay_min) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    if (surroundings_.stop) surroundings_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Records are "LABEL\nBODY".
  Status Restore() {
    FL_ASSIGN_OR_RETURN(const auto records, store_.List(kOutboxPrefix));
    for (const store::Record& record : records) {
      const size_t end = record.value.find('\n');
      const std::string trace = record.key.substr(kOutboxPrefix.size());
      if (end == std::string::npos) {
        changes_[record.key] = std::nullopt;  // of no process of ours
        continue;
      }
      Enqueue({trace, record.value.substr(0, end), record.value.substr(end + 1), steady_clock::now()});
    }
    return OkStatus();
  }

  void Begin() {
    thread_ = std::thread([this] { Run(); });
  }

  void Put(const std::string& trace, const std::string& label, const std::string& body, bool is_over) {
    std::string line = label;
    std::ranges::replace(line, '\n', ' ');
    {
      const std::lock_guard lock(mutex_);
      changes_[KeyOf(trace)] = line + "\n" + body;
      if (is_over) Enqueue({trace, line, body, steady_clock::now()});
    }
    changed_.notify_all();
  }

  IncidentOutboxCounters counters() const {
    const std::lock_guard lock(mutex_);
    IncidentOutboxCounters counters = counters_;
    counters.waiting = waiting_.size();
    return counters;
  }

 private:
  struct Trace {
    std::string id;
    std::string label;
    std::string body;
    steady_clock::time_point since;
  };

  // With the mutex held, or before there are others, as all below but Run().
  void Enqueue(Trace trace) {
    std::erase_if(waiting_, [&](const Trace& other) { return other.id == trace.id; });
    waiting_.push_back(std::move(trace));
    while (waiting_.size() > options_.num_waiting_max) {
      GiveUp(waiting_.front(), fmt::format("{} wait already", options_.num_waiting_max));
      waiting_.pop_front();
    }
  }

  void GiveUp(const Trace& trace, const std::string& why) {
    ++counters_.given_up;
    notes_.emplace_back(true, fmt::format("the trace of {} is given up: {}", trace.label, why));
    changes_[KeyOf(trace.id)] = std::nullopt;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      WriteDown(&lock);
      TellNotes(&lock);
      if (is_over_) break;
      GiveUpOld();
      const steady_clock::time_point now = steady_clock::now();
      if (!waiting_.empty() && now >= next_attempt_) {
        Attempt(&lock);
        continue;
      }
      const auto has_news = [&] { return is_over_ || !notes_.empty() || (!changes_.empty() && can_write_); };
      const auto has_trace = [&] { return has_news() || (!waiting_.empty() && steady_clock::now() >= next_attempt_); };
      // Without anything to try again it sleeps until it is woken.
      if (waiting_.empty() && (changes_.empty() || can_write_)) {
        changed_.wait(lock, [&] { return has_news() || !waiting_.empty(); });
      } else {
        changed_.wait_for(lock, waiting_.empty() ? options_.delay_min : TimeUntilAttempt(now), has_trace);
      }
      can_write_ = true;
    }
    WriteDown(&lock);
  }

  std::chrono::milliseconds TimeUntilAttempt(steady_clock::time_point now) const {
    const auto length = std::chrono::duration_cast<std::chrono::milliseconds>(next_attempt_ - now);
    return std::clamp(length + std::chrono::milliseconds(1), std::chrono::milliseconds(1), options_.delay_max);
  }

  // What the store does not take is tried again; meanwhile traces are sent all the same.
  void WriteDown(std::unique_lock<std::mutex>* lock) {
    if (changes_.empty()) return;
    std::map<std::string, std::optional<std::string>> written;
    std::swap(written, changes_);
    std::vector<store::Change> changes;
    for (const auto& [key, value] : written) changes.push_back({key, value});
    lock->unlock();
    const Status status = store_.Apply(changes);
    lock->lock();
    can_write_ = status.ok();
    if (status.ok()) return;
    // What has been put meanwhile is newer.
    changes_.merge(written);
  }

  void TellNotes(std::unique_lock<std::mutex>* lock) {
    while (!notes_.empty()) {
      std::vector<std::pair<bool, std::string>> notes;
      std::swap(notes, notes_);
      if (!surroundings_.note) return;
      lock->unlock();
      for (const auto& [is_warning, text] : notes) surroundings_.note(is_warning, text);
      lock->lock();
    }
  }

  void GiveUpOld() {
    while (!waiting_.empty() && steady_clock::now() - waiting_.front().since > options_.waits_max) {
      GiveUp(waiting_.front(),
             "the collector has not taken it for too long" + (error_.empty() ? std::string() : " (" + error_ + ")"));
      waiting_.pop_front();
    }
  }

  void Attempt(std::unique_lock<std::mutex>* lock) {
    const Trace trace = waiting_.front();
    lock->unlock();
    const OtlpAnswer answer = surroundings_.post(trace.body);
    lock->lock();
    // It may have been given up meanwhile, or been replaced by a newer one.
    const auto same = std::ranges::find_if(
        waiting_, [&](const Trace& other) { return other.id == trace.id && other.since == trace.since; });
    if (answer.outcome == OtlpOutcome::kLater) return Postpone(answer);
    delay_ = options_.delay_min;
    next_attempt_ = {};
    if (!error_.empty()) notes_.emplace_back(false, "the collector takes traces again");
    error_.clear();
    if (answer.outcome == OtlpOutcome::kRefused) {
      ++counters_.failures;
      if (same != waiting_.end()) GiveUp(trace, answer.text);
    } else {
      ++counters_.sent;
      if (!answer.text.empty()) {
        notes_.emplace_back(true, fmt::format("the trace of {}: {}", trace.label, answer.text));
      }
      if (same != waiting_.end()) changes_[KeyOf(trace.id)] = std::nullopt;
    }
    if (same != waiting_.end()) waiting_.erase(same);
  }

  void Postpone(const OtlpAnswer& answer) {
    if (is_over_) return;  // broken off
    ++counters_.failures;
    std::chrono::milliseconds pause = delay_;
    if (answer.retry_after_s) {
      pause = std::max(pause, Limited(*answer.retry_after_s, options_.asked_delay_max));
    }
    next_attempt_ = steady_clock::now() + pause;
    delay_ = std::min(delay_ * 2, options_.delay_max);
    if (error_.empty()) {
      notes_.emplace_back(true, fmt::format("the collector takes no traces: {}; they wait", answer.text));
    }
    error_ = answer.text.empty() ? "no answer" : answer.text;
  }

  const IncidentOutboxOptions options_;
  const Surroundings surroundings_;
  store::Store& store_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Trace> waiting_;                                  // oldest first
  std::map<std::string, std::optional<std::string>> changes_;  // that the store does not have yet
  bool can_write_ = true;                                      // the store took the last ones
  std::vector<std::pair<bool, std::string>> notes_;
  IncidentOutboxCounters counters_;
  std::chrono::milliseconds delay_;
  steady_clock::time_point next_attempt_;
  std::string error_;  // of the last attempt
  bool is_over_ = false;
  std::thread thread_;
};

IncidentOutbox::IncidentOutbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

IncidentOutbox::~IncidentOutbox() = default;

Result<std::unique_ptr<IncidentOutbox>> IncidentOutbox::Start(const IncidentOutboxOptions& options,
                                                              Surroundings surroundings, store::Store* store) {
  if (options.delay_min.count() <= 0 || options.delay_max < options.delay_min || options.num_waiting_max == 0 ||
      options.waits_max.count() <= 0) {
    return InvalidArgument("otlp: expected 0 < shortest delay <= longest, and room for traces");
  }
  auto impl = std::make_unique<Impl>(options, std::move(surroundings), store);
  FL_RETURN_IF_ERROR(impl->Restore());
  impl->Begin();
  return std::unique_ptr<IncidentOutbox>(new IncidentOutbox(std::move(impl)));
}

void IncidentOutbox::Keep(const std::string& trace, const std::string& label, const std::string& body) {
  impl_->Put(trace, label, body, false);
}

void IncidentOutbox::Send(const std::string& trace, const std::string& label, const std::string& body) {
  impl_->Put(trace, label, body, true);
}

IncidentOutboxCounters IncidentOutbox::counters() const { return impl_->counters(); }

}  // namespace fairlead::service
