// Words that wait for their stream: those that have come together leave in one message.
//
// What gRPC and the kernel do for a message takes ten times as long as what we do for a word, and hardly depends on how
// long it is. A message must end, though: its reader takes it as a whole.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace fairlead::service {

class UnsentWords {
 public:
  // More words, or bytes, wait for the next message. One word alone may be longer.
  static constexpr size_t kWordsMax = 64;
  static constexpr size_t kBytesMax = size_t{64} << 10;

  struct Message {
    std::string bytes;
    size_t num_words = 0;
  };

  // Args: what wire::Write…() returned.
  void Push(std::string word) {
    num_bytes_ += word.size();
    words_.push_back(std::move(word));
  }
  // The first words. Args: not empty.
  Message Take() {
    Message message = {.bytes = TakeWord(), .num_words = 1};
    while (!words_.empty() && message.num_words < kWordsMax &&
           message.bytes.size() + words_.front().size() <= kBytesMax) {
      message.bytes += TakeWord();
      ++message.num_words;
    }
    return message;
  }
  void Clear() {
    words_.clear();
    num_bytes_ = 0;
  }

  bool empty() const { return words_.empty(); }
  size_t size() const { return words_.size(); }
  size_t num_bytes() const { return num_bytes_; }

 private:
  std::string TakeWord() {
    std::string word = std::move(words_.front());
    words_.pop_front();
    num_bytes_ -= word.size();
    return word;
  }

  std::deque<std::string> words_;
  size_t num_bytes_ = 0;
};

}  // namespace fairlead::service
