// The newest metrics of a DCGM exporter on this host: from the file that it writes, or from its HTTP port.
//
// Method      a thread asks every kPeriod, so that a source that hangs makes nobody wait.
// Guarantees  a text of at most kTextBytesMax; what is older than kFreshFor is none.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"

namespace fairlead::service {

class DcgmSource {
 public:
  static constexpr std::chrono::seconds kPeriod{5};
  static constexpr std::chrono::seconds kFreshFor{30};
  static constexpr size_t kTextBytesMax = size_t{4} << 20;

  // Args: source: "http://HOST:PORT/PATH", or a file; it need not be there yet. Errors: kInvalidArgument: another scheme.
  static Result<std::unique_ptr<DcgmSource>> Start(const std::string& source,
                                                   std::chrono::milliseconds period = kPeriod);
  ~DcgmSource();
  DcgmSource(const DcgmSource&) = delete;
  DcgmSource& operator=(const DcgmSource&) = delete;

  // A text that is newer than number `*seen`, which becomes that of this one; empty: there is none. Readers have numbers
  // of their own, 0 at first.
  std::string TakeNewer(uint64_t* seen) const;
  // Why the latest try failed; OK: it did not, or none has ended.
  Status status() const;

 private:
  DcgmSource(std::string source, std::chrono::milliseconds period);
  void Run();
  Result<std::string> Ask() const;

  const std::string source_;
  const std::chrono::milliseconds period_;
  mutable std::mutex mutex_;
  std::condition_variable stopping_;
  bool is_stopping_ = false;
  Status status_;
  std::string text_;
  uint64_t number_ = 0;  // of text_
  std::chrono::steady_clock::time_point text_at_;
  std::thread thread_;
};

}  // namespace fairlead::service
