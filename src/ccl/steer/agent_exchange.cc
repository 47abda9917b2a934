#include "ccl/steer/agent_exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "ccl/monotonic_clock.h"
#include "shm/job_name.h"

namespace fairlead::ccl {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kQuietNs = 1'000 * kNsPerMs;
constexpr int32_t kQueuePairDeadlineMs = 500;

// Until when no call about a connection waits for an answer. Lock-free, so fit for signal handlers, as the next one.
std::atomic<int64_t> quiet_until_ns = 0;
// The agent let the last queue pair wait in vain.
std::atomic<bool> is_agent_slow = false;
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// The text fits, with its zero byte.
template <size_t N>
bool Copy(const char* text, char (&to)[N]) {
  const size_t length = strnlen(text, N);
  if (length == 0 || length == N) return false;
  memcpy(to, text, length + 1);
  return true;
}

// Set when the library is loaded, only read afterwards.
SteeringOptions process_options;

__attribute__((constructor)) void LoadOptions() { process_options = ReadSteeringOptions(); }

}  // namespace

const SteeringOptions& ProcessOptions() { return process_options; }

SteeringOptions ReadSteeringOptions() {
  SteeringOptions options;
  const char* job = secure_getenv("FAIRLEAD_JOB");
  if (job != nullptr && shm::IsProcessJobName(job)) Copy(job, options.job);
  if (const char* path = secure_getenv("FAIRLEAD_AGENT_SOCKET")) Copy(path, options.socket_path);
  if (const char* text = secure_getenv("FAIRLEAD_STEER_DEADLINE_MS")) {
    char* end = nullptr;
    const long value = strtol(text, &end, 10);
    if (end != text && *end == '\0' && value >= 1 && value <= 60'000) options.deadline_ms = static_cast<int32_t>(value);
  }
  return options;
}

AgentExchange::~AgentExchange() {
  if (socket_ >= 0) close(socket_);
}

// Connecting to a socket in the file system ends at once, either way: with EAGAIN where the agent's queue is full.
bool AgentExchange::Open() {
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return false;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(address.sun_path) == sizeof(SteeringOptions::socket_path));
  memcpy(address.sun_path, options_->socket_path, sizeof(address.sun_path));
  return ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

bool AgentExchange::WaitForAnswer(int64_t wait_ns) const {
  const int64_t deadline = NowNs() + wait_ns;
  for (;;) {
    const int64_t left_ms = (deadline - NowNs() + kNsPerMs - 1) / kNsPerMs;
    pollfd wait = {socket_, POLLIN, 0};
    const int ready = left_ms > 0 ? poll(&wait, 1, static_cast<int>(left_ms)) : 0;
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool AgentExchange::Receive(shm::SteeringAnswer* answer) const {
  // One byte more than an answer has tells a packet that is too long.
  char packet[sizeof(shm::SteeringAnswer) + 1];
  if (recv(socket_, packet, sizeof(packet), 0) != ssize_t{sizeof(shm::SteeringAnswer)}) return false;
  memcpy(answer, packet, sizeof(*answer));
  return answer->magic == shm::kSteeringMagic && answer->version == shm::kSteeringVersion &&
         answer->kind == shm::SteeringAnswerKind::kUse;
}

bool AgentExchange::Ask(shm::SteeringQuestion question, Patience patience, shm::SteeringAnswer* answer) {
  if (!Open()) return false;
  question.magic = shm::kSteeringMagic;
  question.version = shm::kSteeringVersion;
  memcpy(question.job, options_->job, sizeof(question.job));
  if (send(socket_, &question, sizeof(question), MSG_NOSIGNAL) != ssize_t{sizeof(question)}) return false;
  const bool is_final = patience == Patience::kQueuePair;
  // The agent still learns of the connection, finds its port by the socket and gives it a path later.
  if (!is_final && NowNs() < quiet_until_ns.load(std::memory_order_relaxed)) return false;
  int64_t wait_ms = options_->deadline_ms;
  if (is_final && wait_ms < kQueuePairDeadlineMs && !is_agent_slow.load(std::memory_order_relaxed)) {
    wait_ms = kQueuePairDeadlineMs;
  }
  const bool has_answer = WaitForAnswer(wait_ms * kNsPerMs);
  if (is_final) {
    is_agent_slow.store(!has_answer, std::memory_order_relaxed);
  } else if (!has_answer) {
    quiet_until_ns.store(NowNs() + kQuietNs, std::memory_order_relaxed);
  }
  return has_answer && Receive(answer);
}

int AgentExchange::Release() {
  const int socket = socket_;
  socket_ = -1;
  return socket;
}

void AgentExchange::Tell(uint16_t source_port, int error, bool steered) {
  const shm::SteeringOutcome outcome = {shm::kSteeringMagic, shm::kSteeringVersion, source_port, error,
                                        steered ? 1u : 0u};
  send(socket_, &outcome, sizeof(outcome), MSG_NOSIGNAL);
}

}  // namespace fairlead::ccl
