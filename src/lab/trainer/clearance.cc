#include "lab/trainer/clearance.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace fairlead::lab {

Result<bool> ClearanceWriter::Write(int socket, uint64_t messages) {
  while (true) {
    const bool is_rest = num_left_ > 0;
    if (!is_rest) {
      std::memcpy(bytes_.data(), &messages, sizeof messages);
      num_left_ = bytes_.size();
    }
    const ssize_t count =
        send(socket, bytes_.data() + bytes_.size() - num_left_, num_left_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (!is_rest) num_left_ = 0;
      if (errno == EAGAIN || errno == EINTR) return false;
      return Unavailable(std::strerror(errno));
    }
    num_left_ -= static_cast<size_t>(count);
    if (num_left_ > 0) return false;
    if (!is_rest) return true;
  }
}

Result<std::optional<uint64_t>> ClearanceReader::Read(int socket) {
  std::optional<uint64_t> latest;
  while (true) {
    const ssize_t count = recv(socket, bytes_.data() + num_have_, bytes_.size() - num_have_, MSG_DONTWAIT);
    if (count == 0) return Unavailable("it has closed the connection");
    if (count < 0) {
      if (errno == EAGAIN || errno == EINTR) return latest;
      return Unavailable(std::strerror(errno));
    }
    num_have_ += static_cast<size_t>(count);
    if (num_have_ < bytes_.size()) continue;
    num_have_ = 0;
    uint64_t messages = 0;
    std::memcpy(&messages, bytes_.data(), sizeof messages);
    latest = messages;
  }
}

}  // namespace fairlead::lab
