// A log that says each thing once: a condition of the host is not repeated with every connection.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace fairlead::service {

// Thread: any.
class OnceLog {
 public:
  // Args: log: takes one line; not empty, and called by one thread at a time.
  explicit OnceLog(std::function<void(const std::string&)> log) : log_(std::move(log)) {}

  // "" is nothing. The first thousand texts are told.
  void Tell(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!text.empty() && told_.size() < 1000 && told_.insert(text).second) log_(text);
  }

 private:
  const std::function<void(const std::string&)> log_;
  std::mutex mutex_;
  std::set<std::string> told_;
};

}  // namespace fairlead::service
