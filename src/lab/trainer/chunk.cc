#include "lab/trainer/chunk.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/check.h"

namespace fairlead::lab {

namespace {

constexpr uint32_t kMagic = 0x43'4c'46'01;
constexpr uint64_t kChunksPerConnection = 16;
constexpr uint64_t kBytesMin = 4'096;
constexpr uint64_t kBytesUnderWay = 131'072;  // of all connections of a pool

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

// Bytes that the connection took; 0: none now.
Result<uint64_t> SendSome(int socket, const char* data, size_t size, int flags) {
  const ssize_t count = send(socket, data, size, flags | MSG_NOSIGNAL);
  if (count >= 0) return static_cast<uint64_t>(count);
  if (WouldBlock()) return uint64_t{0};
  return Unavailable(std::strerror(errno));
}

constexpr const char* kClosed = "it has closed the connection";

// Bytes that were there; 0: none now; nothing: there will be no more.
Result<std::optional<uint64_t>> ReceiveSome(int socket, char* data, size_t size, int flags) {
  const ssize_t count = recv(socket, data, size, flags);
  if (count > 0) return std::optional(static_cast<uint64_t>(count));
  if (count == 0) return std::optional<uint64_t>();
  if (WouldBlock()) return std::optional(uint64_t{0});
  return Unavailable(std::strerror(errno));
}

}  // namespace

uint64_t ChunkBytes(uint64_t pool_bytes, uint32_t num_connections) {
  FL_CHECK(num_connections >= 1);
  const uint64_t share = pool_bytes / (kChunksPerConnection * num_connections);
  return std::max(kBytesMin, std::min(share, kBytesUnderWay / (uint64_t{2} * num_connections)));
}

Result<bool> ChunkSender::Begin(int socket, uint64_t phase, uint32_t bytes) {
  FL_CHECK(!is_open() && bytes > 0);
  header_ = {.phase = phase, .bytes = bytes, .magic = kMagic};
  header_left_ = sizeof header_;
  const auto sent = SendHeader(socket);
  if (sent.ok() && header_left_ < sizeof header_) {
    bytes_left_ = bytes;
    return true;
  }
  header_left_ = 0;
  if (!sent.ok()) return sent.status();
  return false;
}

// True: all of it is on its way. The content follows immediately, so it need not go in a separate packet.
Result<bool> ChunkSender::SendHeader(int socket) {
  if (header_left_ > 0) {
    const char* const end = reinterpret_cast<const char*>(&header_) + sizeof header_;
    FL_ASSIGN_OR_RETURN(const uint64_t sent, SendSome(socket, end - header_left_, header_left_, MSG_MORE));
    header_left_ -= sent;
  }
  return header_left_ == 0;
}

Result<uint64_t> ChunkSender::Send(int socket, std::string_view content) {
  FL_CHECK(is_open());
  FL_ASSIGN_OR_RETURN(const bool has_header, SendHeader(socket));
  if (!has_header) return uint64_t{0};
  FL_ASSIGN_OR_RETURN(const uint64_t sent,
                      SendSome(socket, content.data(), std::min<uint64_t>(bytes_left_, content.size()), 0));
  bytes_left_ -= sent;
  return sent;
}

// True: there is a chunk to read from.
Result<bool> ChunkReceiver::ReceiveHeader(int socket, uint64_t phase) {
  if (bytes_left_ > 0) return true;
  char* const begin = reinterpret_cast<char*>(&header_);
  FL_ASSIGN_OR_RETURN(const auto count, ReceiveSome(socket, begin + header_have_, sizeof header_ - header_have_, 0));
  if (!count) {
    if (header_have_ > 0) return Unavailable(kClosed);
    has_ended_ = true;
    return false;
  }
  header_have_ += *count;
  if (header_have_ < sizeof header_) return false;
  header_have_ = 0;
  if (header_.magic != kMagic || header_.bytes == 0) return Unavailable("it sends no chunks of shared bytes");
  if (header_.phase < phase) return Unavailable("it sends bytes of a phase that is over");
  bytes_left_ = header_.bytes;
  return true;
}

Result<uint64_t> ChunkReceiver::Receive(int socket, uint64_t phase, uint64_t expected, std::string* scratch) {
  FL_ASSIGN_OR_RETURN(const bool has_header, ReceiveHeader(socket, phase));
  if (!has_header || is_early(phase)) return uint64_t{0};
  if (bytes_left_ > expected) return Unavailable("it sends more bytes than this worker's plan has");
  // What is received is not looked at: MSG_TRUNC lets the kernel drop it without a copy.
  FL_ASSIGN_OR_RETURN(const auto count, ReceiveSome(socket, scratch->data(),
                                                    std::min<uint64_t>(bytes_left_, scratch->size()), MSG_TRUNC));
  if (!count) return Unavailable(kClosed);
  bytes_left_ -= *count;
  return *count;
}

}  // namespace fairlead::lab
