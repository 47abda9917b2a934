// Messages that wait for their stream: those that have come together leave in one batch, a message of gRPC.
//
// What gRPC and the kernel do for a batch takes ten times as long as what we do for a message, and hardly depends on
// its size. A batch must end, though: its reader takes it as a whole.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace fairlead::service {

class OutgoingMessages {
 public:
  // More messages, or bytes, wait for the next batch. One message alone may be longer.
  static constexpr size_t kMessagesMax = 64;
  static constexpr size_t kBytesMax = size_t{64} << 10;

  struct Batch {
    std::string bytes;
    size_t num_messages = 0;
  };

  // Args: what wire::Write…() returned.
  void Push(std::string message) {
    num_bytes_ += message.size();
    messages_.push_back(std::move(message));
  }
  // The first messages. Args: not empty.
  Batch Take() {
    Batch batch = {.bytes = TakeMessage(), .num_messages = 1};
    while (!messages_.empty() && batch.num_messages < kMessagesMax &&
           batch.bytes.size() + messages_.front().size() <= kBytesMax) {
      batch.bytes += TakeMessage();
      ++batch.num_messages;
    }
    return batch;
  }
  void Clear() {
    messages_.clear();
    num_bytes_ = 0;
  }

  bool empty() const { return messages_.empty(); }
  size_t size() const { return messages_.size(); }
  size_t num_bytes() const { return num_bytes_; }

 private:
  std::string TakeMessage() {
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    num_bytes_ -= message.size();
    return message;
  }

  std::deque<std::string> messages_;
  size_t num_bytes_ = 0;
};

}  // namespace fairlead::service
