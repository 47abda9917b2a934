// How much of its reader's time one stream may take: when its next batch of messages is read.
//
// Method      read messages that nobody has taken yet are limited in number and bytes. In the long run, beyond a burst,
//             no stream gets more than so many messages and bytes a second: what is beyond is read, as a batch comes as
//             a whole, and paid for by waiting.
// Cost        O(1) each.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace fairlead::service {

struct ReadingLimits {
  size_t num_unread_max = 64;  // messages, beside those of one batch
  size_t unread_bytes_max = size_t{1} << 20;
  // What one agent may send in the long run, > 0, and at once: so many seconds' worth. Smaller: one that floods costs
  // less; larger: agents with many connections announce them sooner. A look at 512 processes with full tables is 2 MB.
  double messages_per_s = 5000;
  double bytes_per_s = 16e6;
  double burst_s = 10;
};

class ReadingShare {
 public:
  using Clock = std::chrono::steady_clock;

  // Args: limits, must outlive this.
  ReadingShare(const ReadingLimits& limits, Clock::time_point now)
      : limits_(limits), credit_s_(limits.burst_s), spent_at_(now) {}

  // A batch was read. Args: now does not run backwards. Returns whether it was beyond the share: then nothing may be
  // read until Resume() says so.
  [[nodiscard]] bool NoteRead(size_t num_messages, size_t num_bytes, Clock::time_point now) {
    if (num_messages > 0) {
      num_unread_ += num_messages;
      unread_bytes_ += num_bytes;
      unread_.push_back({num_messages, num_bytes});
    }
    const double since_s = std::chrono::duration<double>(now - spent_at_).count();
    spent_at_ = now;
    credit_s_ = std::min(limits_.burst_s, credit_s_ + since_s) -
                std::max(static_cast<double>(num_messages) / limits_.messages_per_s,
                         static_cast<double>(num_bytes) / limits_.bytes_per_s);
    if (credit_s_ >= 0) return false;
    resume_at_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(-credit_s_));
    return true;
  }
  // The oldest message that was read is taken. Args: there is one.
  void NoteTaken() {
    --num_unread_;
    Batch& oldest = unread_.front();
    if (--oldest.num_messages > 0) return;
    unread_bytes_ -= oldest.num_bytes;
    unread_.pop_front();
  }

  bool MayRead() const {
    return num_unread_ < limits_.num_unread_max && unread_bytes_ < limits_.unread_bytes_max && !resume_at_;
  }
  // Whether what was beyond the share is paid for.
  bool Resume(Clock::time_point now) {
    if (resume_at_ && now < *resume_at_) return false;
    resume_at_.reset();
    return true;
  }

 private:
  struct Batch {
    size_t num_messages = 0;  // not taken yet
    size_t num_bytes = 0;
  };

  const ReadingLimits& limits_;
  std::deque<Batch> unread_;
  size_t num_unread_ = 0;
  size_t unread_bytes_ = 0;  // of batches of which some message is not taken
  double credit_s_;
  Clock::time_point spent_at_;
  std::optional<Clock::time_point> resume_at_;
};

}  // namespace fairlead::service
