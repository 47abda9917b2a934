#include "service/agent/dcgm_source.h"

#include <fmt/format.h>
#include <httplib.h>

#include <utility>

#include "base/file_reader.h"

namespace fairlead::service {

namespace {

constexpr std::string_view kScheme = "http://";
constexpr int kPatienceSeconds = 3;

}  // namespace

Result<std::unique_ptr<DcgmSource>> DcgmSource::Start(const std::string& source, std::chrono::milliseconds period) {
  const bool has_scheme = source.find("://") != std::string::npos;
  const bool is_http = source.starts_with(kScheme) && source.size() > kScheme.size() && source[kScheme.size()] != '/';
  if (source.empty() || (has_scheme && !is_http)) {
    return InvalidArgument(fmt::format("expected a file or http://HOST:PORT/PATH, found '{}'", source));
  }
  return std::unique_ptr<DcgmSource>(new DcgmSource(source, period));
}

DcgmSource::DcgmSource(std::string source, std::chrono::milliseconds period)
    : source_(std::move(source)), period_(period), thread_([this] { Run(); }) {}

DcgmSource::~DcgmSource() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

Result<std::string> DcgmSource::Ask() const {
  if (!source_.starts_with(kScheme)) return ReadWholeFile(source_, kTextBytesMax);
  const size_t path_at = source_.find('/', kScheme.size());
  httplib::Client client(source_.substr(0, path_at));
  client.set_connection_timeout(kPatienceSeconds);
  client.set_read_timeout(kPatienceSeconds);
  std::string text;
  const std::string path = path_at == std::string::npos ? "/metrics" : source_.substr(path_at);
  const auto answer = client.Get(path.c_str(), [&](const char* bytes, size_t size) {
    text.append(bytes, std::min(size, kTextBytesMax - text.size()));
    return text.size() < kTextBytesMax;
  });
  if (!answer) return Unavailable(fmt::format("{}: {}", source_, httplib::to_string(answer.error())));
  if (answer->status != 200) return Unavailable(fmt::format("{}: answered with status {}", source_, answer->status));
  return text;
}

void DcgmSource::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    lock.unlock();
    Result<std::string> text = Ask();
    lock.lock();
    status_ = text.status();
    if (text.ok()) {
      text_ = *std::move(text);
      ++number_;
      text_at_ = std::chrono::steady_clock::now();
    }
    stopping_.wait_for(lock, period_, [this] { return is_stopping_; });
  }
}

std::string DcgmSource::TakeNewer(uint64_t* seen) const {
  const std::lock_guard lock(mutex_);
  if (std::exchange(*seen, number_) == number_) return {};
  const bool is_fresh = std::chrono::steady_clock::now() - text_at_ <= kFreshFor;
  return is_fresh ? text_ : std::string();
}

Status DcgmSource::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace fairlead::service
