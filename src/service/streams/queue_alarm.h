// Wakes the thread that waits for a completion queue.
#pragma once

#include <grpcpp/alarm.h>

#include <atomic>

#include "service/streams/completion.h"

namespace fairlead::service {

class QueueAlarm {
 public:
  // The thread that waits, or else the next one, goes on. Args: queue, not shut down. Any thread.
  void Ring(grpc::CompletionQueue* queue) {
    if (!is_set_.exchange(true)) alarm_.Set(queue, gpr_inf_past(GPR_CLOCK_MONOTONIC), &rung_);
  }
  // Whether it has rung since it was silenced. The queue's thread.
  bool is_ringing() const { return is_ringing_; }
  void Silence() { is_ringing_ = false; }

 private:
  grpc::Alarm alarm_;
  std::atomic<bool> is_set_ = false;
  bool is_ringing_ = false;
  Completion rung_ = [this](bool) {
    is_set_ = false;
    is_ringing_ = true;
  };
};

}  // namespace fairlead::service
