#include "lab/jobs_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace fairlead::lab {

namespace {

// Of a question or an answer; actions have some evidence, and no more.
constexpr size_t kMessageBytes = size_t{128} << 10;

Result<sockaddr_un> SocketAddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{}: too long for a socket, which has at most {} bytes; use another --run-dir", path,
                              sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Nothing: there is none yet. Empty: the other side has gone.
std::optional<std::string> Receive(int socket) {
  std::string text(kMessageBytes, '\0');
  const ssize_t count = recv(socket, text.data(), text.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  text.resize(static_cast<size_t>(count < 0 ? 0 : count));
  return text;
}

Status NoAnswer(const std::string& path, const std::string& why) {
  return Unavailable(fmt::format("{}: {}. The jobs of this lab are run by fairlead lab diagnose", path, why));
}

}  // namespace

std::string JobsSocket(const std::string& lab_folder) { return lab_folder + "/jobs.sock"; }

Result<JobsServer> JobsServer::Open(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const sockaddr_un address, SocketAddressOf(path));
  unlink(path.c_str());
  JobsServer jobs_server;
  jobs_server.listener_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(jobs_server.listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(jobs_server.listener_.get(), SOMAXCONN) != 0) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  jobs_server.path_ = path;
  return jobs_server;
}

JobsServer::~JobsServer() {
  if (listener_.is_open()) unlink(path_.c_str());
}

std::vector<JobsServer::Question> JobsServer::Take() {
  while (true) {
    Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!caller.is_open()) break;
    silent_.emplace(next_id_++, std::move(caller));
  }
  std::vector<Question> questions;
  for (auto caller = silent_.begin(); caller != silent_.end();) {
    std::optional<std::string> text = Receive(caller->second.get());
    if (!text) {
      ++caller;
      continue;
    }
    if (!text->empty()) {
      questions.push_back({caller->first, std::move(*text)});
      asked_.emplace(caller->first, std::move(caller->second));
    }
    caller = silent_.erase(caller);
  }
  return questions;
}

void JobsServer::Answer(uint64_t id, const JobsAnswer& answer) {
  const auto caller = asked_.find(id);
  if (caller == asked_.end()) return;
  nlohmann::json json = {{"exit_code", answer.exit_code}, {"message", answer.message}};
  if (answer.is_healthy) json["healthy"] = *answer.is_healthy;
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  [[maybe_unused]] const ssize_t sent =
      send(caller->second.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  asked_.erase(caller);
}

Result<JobsAnswer> AskJobs(const std::string& path, const std::string& question, double patience_s) {
  FL_ASSIGN_OR_RETURN(const sockaddr_un address, SocketAddressOf(path));
  const Descriptor jobs_server(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (connect(jobs_server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      send(jobs_server.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) {
    return NoAnswer(path, std::strerror(errno));
  }
  pollfd answered = {jobs_server.get(), POLLIN, 0};
  if (poll(&answered, 1, static_cast<int>(patience_s * 1e3)) <= 0) return NoAnswer(path, "there was no answer in time");
  const std::optional<std::string> text = Receive(jobs_server.get());
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const bool is_answer = json.is_object() && json.contains("exit_code") && json["exit_code"].is_number_integer() &&
                         json.contains("message") && json["message"].is_string();
  if (!is_answer) return NoAnswer(path, "there was no answer");
  JobsAnswer answer{json["exit_code"], json["message"], std::nullopt};
  if (json.contains("healthy") && json["healthy"].is_boolean()) answer.is_healthy = json["healthy"].get<bool>();
  return answer;
}

}  // namespace fairlead::lab
