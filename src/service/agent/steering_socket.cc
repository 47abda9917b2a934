#include "service/agent/steering_socket.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/socket_address.h"
#include "service/agent/descriptor_share.h"
#include "service/agent/steering_packet.h"
#include "shm/job_name.h"

namespace fairlead::service {

namespace {

constexpr uint64_t kListener = 0;  // questions count from 1
constexpr SimDuration kSilencePeriod(100'000'000);
// At one go: whoever connects again and again must not keep the agent from all else.
constexpr int kAcceptedAtOnce = 64;
constexpr int kBacklog = 4096;
constexpr size_t kAllowancesMax = 1024;

Result<sockaddr_un> MakeAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return InvalidArgument(fmt::format("the path of the agent's socket must have 1 to {} bytes, found {}: {}",
                                       sizeof(address.sun_path) - 1, path.size(), path));
  }
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

Status Failed(const std::string& path, std::string_view what) {
  return Unavailable(fmt::format("{}: can't {}: {}", path, what, std::strerror(errno)));
}

// Whether somebody listens there who goes on listening: an agent that was killed does until the last of its threads is
// gone, which can be after its parent has seen its end.
bool IsListening(const sockaddr_un& address) {
  constexpr int kNumTries = 50;
  for (int i = 0; i < kNumTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Descriptor probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int result = connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (result != 0 && errno != EAGAIN) return false;
  }
  return true;
}

// A socket that an agent has left behind is in the way of the next one.
Status ClearWay(const sockaddr_un& address, const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("{}: already exists and is not a socket", path));
  }
  if (IsListening(address)) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{}: another agent listens there; end it, or give another --socket", path));
  }
  // It may have been taken away by its agent meanwhile.
  const bool is_gone = unlink(path.c_str()) == 0 || errno == ENOENT;
  return is_gone ? OkStatus() : Failed(path, "remove the old socket");
}

Status SetRights(const std::string& path, const std::string& group_name) {
  if (group_name.empty()) return chmod(path.c_str(), 0666) == 0 ? OkStatus() : Failed(path, "set rights");
  const group* entry = getgrnam(group_name.c_str());
  if (entry == nullptr) return InvalidArgument(fmt::format("there is no group '{}' on this host", group_name));
  if (chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) return Failed(path, "give it to the group");
  return chmod(path.c_str(), 0660) == 0 ? OkStatus() : Failed(path, "set rights");
}

bool Watch(int epoll, int descriptor, uint64_t number) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = number;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// The address that the kernel would send from; no packet leaves.
IpAddress SourceTo(const IpAddress& destination) {
  const SocketAddress address(destination, 9);
  const Descriptor probe(socket(address.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return connect(probe.get(), address.get(), address.length()) == 0 ? LocalAddressOf(probe.get()) : IpAddress();
}

bool IsOpenSource(const IpAddress& source) { return source.is_unset() || (source.is_ipv4() && source.ipv4() == 0); }

}  // namespace

Result<SteeringSocket> SteeringSocket::Open(const SteeringSocketOptions& options) {
  FL_ASSIGN_OR_RETURN(const sockaddr_un address, MakeAddress(options.path));
  const std::filesystem::path folder = std::filesystem::path(options.path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Unavailable(fmt::format("{}: can't make the folder: {}", folder.string(), error.message()));
  FL_RETURN_IF_ERROR(ClearWay(address, options.path));
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open() || bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Failed(options.path, "make the socket");
  }
  FL_RETURN_IF_ERROR(SetRights(options.path, options.group));
  if (listen(listener.get(), kBacklog) != 0) return Failed(options.path, "listen");
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open() || !Watch(epoll.get(), listener.get(), kListener)) return Failed(options.path, "watch");
  return SteeringSocket(options, std::move(listener), std::move(epoll));
}

SteeringSocket::SteeringSocket(const SteeringSocketOptions& options, Descriptor listener, Descriptor epoll)
    : options_(options), listener_(std::move(listener)), epoll_(std::move(epoll)) {
  options_.num_open_max = static_cast<uint32_t>(std::clamp<rlim_t>(DescriptorShare(), 1, options_.num_open_max));
}

SteeringSocket::~SteeringSocket() {
  if (listener_.is_open()) unlink(options_.path.c_str());
}

void SteeringSocket::Accept(SimTime now, std::vector<agent::HostEvent>* events) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    ucred peer = {};
    socklen_t length = sizeof(peer);
    const bool is_known = getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    const uint64_t number = num_questions_ + 1;
    if (!is_known || !HasRoomFor(peer.pid, peer.uid, events) || !Watch(epoll_.get(), socket.get(), number)) {
      ++num_rejected_;
      continue;
    }
    num_questions_ = number;
    ++num_of_process_[peer.pid];
    ++num_of_user_[peer.uid];
    clients_.emplace(number, Client{.socket = std::move(socket), .pid = peer.pid, .user = peer.uid, .since = now});
    Read(number, now, events);  // as a rule the question is there already
  }
}

bool SteeringSocket::MayAsk(uint32_t user, SimTime now) {
  if (allowances_.size() > kAllowancesMax) {
    std::erase_if(allowances_, [&](const auto& entry) {
      return (now - entry.second.at).seconds().value() * options_.num_asked_per_second >= options_.num_asked_at_once;
    });
  }
  const double most = options_.num_asked_at_once;
  const auto [entry, is_new] = allowances_.try_emplace(user, most, now);
  Allowance& allowance = entry->second;
  const double earned = (now - std::exchange(allowance.at, now)).seconds().value() * options_.num_asked_per_second;
  allowance.questions = std::min(most, allowance.questions + earned);
  if (allowance.questions < 1) return false;
  allowance.questions -= 1;
  return true;
}

bool SteeringSocket::MakeRoom(const std::function<bool(const Client&)>& is_one, std::vector<agent::HostEvent>* events) {
  const auto oldest = std::ranges::find_if(clients_, [&](const auto& client) { return is_one(client.second); });
  if (oldest == clients_.end()) return false;
  ++num_rejected_;
  HangUp(oldest->first, events);
  return true;
}

bool SteeringSocket::HasRoomFor(int32_t pid, uint32_t user, std::vector<agent::HostEvent>* events) {
  const auto count = [](const auto& counts, auto key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0u : found->second;
  };
  if (count(num_of_process_, pid) >= options_.num_open_per_process) {
    return MakeRoom([&](const Client& client) { return client.pid == pid; }, events);
  }
  if (count(num_of_user_, user) >= options_.num_open_per_user) {
    return MakeRoom([&](const Client& client) { return client.user == user; }, events);
  }
  if (clients_.size() < options_.num_open_max) return true;
  // Whoever has the most.
  const auto most = std::ranges::max_element(num_of_user_, {}, [](const auto& entry) { return entry.second; });
  const uint32_t greediest = most->first;
  return MakeRoom([&](const Client& client) { return client.user == greediest; }, events);
}

void SteeringSocket::HangUp(uint64_t number, std::vector<agent::HostEvent>* events) {
  const auto client = clients_.find(number);
  if (client == clients_.end()) return;
  const auto of_process = num_of_process_.find(client->second.pid);
  if (--of_process->second == 0) num_of_process_.erase(of_process);
  const auto of_user = num_of_user_.find(client->second.user);
  if (--of_user->second == 0) num_of_user_.erase(of_user);
  if (client->second.has_asked) events->emplace_back(agent::ProcessLeft{number});
  clients_.erase(client);
}

void SteeringSocket::Read(uint64_t number, SimTime now, std::vector<agent::HostEvent>* events) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  Client& client = found->second;
  // One byte more than the longest packet tells one that is too long.
  std::array<std::byte, sizeof(shm::SteeringQuestion) + 1> buffer;
  const ssize_t size = recv(client.socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return HangUp(number, events);
  const PacketBytes packet = std::span(buffer).first(static_cast<size_t>(size));
  if (client.has_asked) {
    auto reported = ReadOutcome(packet);
    if (reported.ok()) {
      reported->question = number;
      events->emplace_back(*reported);
    } else {
      ++num_rejected_;
    }
    return HangUp(number, events);
  }
  auto asked = ReadQuestion(packet);
  if (!asked.ok()) {
    ++num_rejected_;
    if (asked.status().code() == StatusCode::kFailedPrecondition) Answer({.question = number});
    return HangUp(number, events);
  }
  if (!MayAsk(client.user, now)) {
    ++num_rejected_;
    Answer({.question = number});
    return HangUp(number, events);
  }
  asked->question = number;
  asked->pid = client.pid;
  // What is no name is of no job, and answered so.
  asked->job = shm::IsProcessJobName(asked->job) ? jobs_.KeyOf(asked->job, client.user, client.pid, now) : "";
  if (IsOpenSource(asked->source)) asked->source = SourceTo(asked->destination);
  client.has_asked = true;
  client.since = now;
  events->emplace_back(std::move(*asked));
}

void SteeringSocket::HangUpOnSilent(SimTime now, std::vector<agent::HostEvent>* events) {
  if (now < looked_for_silent_at_ + kSilencePeriod) return;
  looked_for_silent_at_ = now;
  std::vector<uint64_t> silent;
  for (const auto& [number, client] : clients_) {
    const SimDuration patience = client.has_asked ? options_.outcome_patience : options_.question_patience;
    if (client.since + patience < now) silent.push_back(number);
  }
  num_rejected_ += silent.size();
  for (const uint64_t number : silent) HangUp(number, events);
}

std::vector<agent::HostEvent> SteeringSocket::Serve(SimTime now) {
  std::vector<agent::HostEvent> events;
  std::array<epoll_event, 256> ready;
  const int count = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t number = ready[static_cast<size_t>(i)].data.u64;
    if (number == kListener) {
      Accept(now, &events);
    } else {
      Read(number, now, &events);
    }
  }
  HangUpOnSilent(now, &events);
  return events;
}

void SteeringSocket::Answer(const agent::AnswerProcess& answer) {
  const auto client = clients_.find(answer.question);
  if (client == clients_.end()) return;
  const auto packet = WriteAnswer(answer);
  // A packet of this size always fits where no other was sent; a client that does not read it has gone.
  (void)!send(client->second.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace fairlead::service
