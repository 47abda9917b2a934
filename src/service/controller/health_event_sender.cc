#include "service/controller/health_event_sender.h"

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "service/streams/endpoint.h"
#include "service/streams/stream_bytes.h"

namespace fairlead::service {
namespace {

using wire::HealthEvent;

Status Validate(const HealthEventSenderOptions& options) {
  FL_ASSIGN_OR_RETURN(const Endpoint endpoint, ParseEndpoint(options.address));
  if (options.deadline.count() <= 0 || options.delay_min.count() <= 0 || options.delay_max < options.delay_min) {
    return InvalidArgument("health events: expected a deadline above 0, and 0 < shortest delay <= longest");
  }
  if (endpoint.is_local() || options.is_insecure_allowed) return OkStatus();
  return InvalidArgument(fmt::format(
      "--health-events {}: it is another machine, and this is plaintext; name a receiver on this one, or allow it by "
      "--insecure",
      options.address));
}

}  // namespace

class HealthEventSender::Impl {
 public:
  explicit Impl(const HealthEventSenderOptions& options) : options_(options) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // The delays between attempts are ours.
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(options.delay_min.count()));
    channel_ = grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
    thread_ = std::thread([this] { Run(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Put(std::span<const HealthEvent> events) {
    {
      const std::lock_guard lock(mutex_);
      for (const HealthEvent& event : events) {
        std::erase_if(waiting_, [&](const HealthEvent& older) { return IsAbout(older, event); });
        waiting_.push_back(event);
      }
      counters_.waiting = waiting_.size();
    }
    changed_.notify_all();
  }

  HealthEventCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  static bool IsAbout(const HealthEvent& a, const HealthEvent& b) { return a.node == b.node && a.check == b.check; }

  void Run() {
    std::chrono::milliseconds delay = options_.delay_min;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
      if (is_over_) return;
      const std::vector<HealthEvent> batch = NextBatch();
      lock.unlock();
      const grpc::Status status = Send(batch);
      lock.lock();
      Note(batch, status);
      if (status.ok()) {
        delay = options_.delay_min;
        continue;
      }
      changed_.wait_for(lock, delay, [this] { return is_over_; });
      delay = std::min(delay * 2, options_.delay_max);
    }
  }

  // With the mutex held: what waits of the node that waits longest. The platform connector takes all events of a message
  // for those of the first one's node.
  std::vector<HealthEvent> NextBatch() const {
    std::vector<HealthEvent> batch;
    for (const HealthEvent& event : waiting_) {
      if (event.node == waiting_.front().node) batch.push_back(event);
    }
    return batch;
  }

  grpc::Status Send(const std::vector<HealthEvent>& events) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.deadline);
    const grpc::ByteBuffer request = ToBuffer(wire::WriteHealthEvents(events));
    grpc::ByteBuffer answer;
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    grpc::Status status;
    stub.UnaryCall(&context, std::string(wire::kHealthEventMethod), {}, &request, &answer, [&](grpc::Status result) {
      const std::lock_guard lock(mutex);
      status = std::move(result);
      is_done = true;
      done.notify_one();
    });
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return is_done; });
    return status;
  }

  // With the mutex held. What has been replaced meanwhile waits on.
  void Note(const std::vector<HealthEvent>& batch, const grpc::Status& status) {
    if (status.ok()) {
      counters_.events_sent += batch.size();
      counters_.error.clear();
      for (const HealthEvent& sent : batch) {
        const auto same = std::find(waiting_.begin(), waiting_.end(), sent);
        if (same != waiting_.end()) waiting_.erase(same);
      }
    } else {
      ++counters_.failures;
      counters_.error = status.error_message();
    }
    counters_.waiting = waiting_.size();
  }

  const HealthEventSenderOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<HealthEvent> waiting_;  // in order of arrival, one of each node and check
  HealthEventCounters counters_;
  bool is_over_ = false;
  std::thread thread_;
};

HealthEventSender::HealthEventSender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HealthEventSender::~HealthEventSender() = default;

Result<std::unique_ptr<HealthEventSender>> HealthEventSender::Start(const HealthEventSenderOptions& options) {
  FL_RETURN_IF_ERROR(Validate(options));
  return std::unique_ptr<HealthEventSender>(new HealthEventSender(std::make_unique<Impl>(options)));
}

void HealthEventSender::Put(std::span<const HealthEvent> events) { impl_->Put(events); }

HealthEventCounters HealthEventSender::counters() const { return impl_->counters(); }

}  // namespace fairlead::service
