#include "service/steering/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/file_reader.h"
#include "service/steering/action_json.h"

namespace fairlead::service {
namespace {

using report::Json;

constexpr char kChain[] = "chain";
constexpr char kBegins[] = "chain_begins";
constexpr size_t kBreaksMax = 100;

std::string HashOf(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

std::string TextOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Of a line without its hash.
std::string Next(const std::string& before, const Json& line) { return HashOf(before + "\n" + TextOf(line)); }

struct ChainedLine {
  Json line;  // without the hash
  std::string chain;
  bool begins = false;
};

std::optional<ChainedLine> ReadLine(std::string_view text) {
  ChainedLine read{Json::parse(text, nullptr, false), "", false};
  if (!read.line.is_object()) return std::nullopt;
  const auto chain = read.line.find(kChain);
  if (chain != read.line.end()) {
    if (!chain->is_string()) return std::nullopt;
    read.chain = chain->get<std::string>();
    read.line.erase(kChain);
  }
  const auto begins = read.line.find(kBegins);
  read.begins = begins != read.line.end() && begins->is_boolean() && begins->get<bool>();
  return read;
}

// The last line with its end; empty: there is none that is whole.
std::string_view LastWholeLine(std::string_view bytes) {
  if (bytes.empty() || bytes.back() != '\n') return {};
  bytes.remove_suffix(1);
  const size_t begin = bytes.rfind('\n');
  return bytes.substr(begin == bytes.npos ? 0 : begin + 1);
}

Status CannotOpen(const std::string& path, std::string_view why) {
  return {StatusCode::kFailedPrecondition, fmt::format("{}: the audit log can't be opened: {}", path, why)};
}

class Verifier {
 public:
  AuditVerdict Verify(std::string_view bytes) {
    all_ = bytes;
    while (position_ < all_.size()) {
      const size_t end = all_.find('\n', position_);
      const bool is_cut = end == all_.npos;
      const std::string_view text = all_.substr(position_, is_cut ? all_.npos : end - position_);
      ++verdict_.num_lines;
      Take(text);
      position_ = is_cut ? all_.size() : end + 1;
    }
    // A machine that goes down leaves one line that is cut short; more than that at the end is not of the log.
    const bool is_cut_short = unvouched_.size() == 1 && !is_last_whole_ && verdict_.num_chained > 0;
    if (!unvouched_.empty() && !is_cut_short) {
      verdict_.breaks.push_back(fmt::format("line {} to the end: no hash vouches for them", unvouched_.front()));
    }
    verdict_.last_chain = chain_;
    return std::move(verdict_);
  }

 private:
  void Break(std::string_view what) {
    if (verdict_.breaks.size() < kBreaksMax) {
      verdict_.breaks.push_back(fmt::format("line {}: {}", verdict_.num_lines, what));
    }
  }
  void Warn(std::string_view what) {
    if (verdict_.warnings.size() < kBreaksMax) {
      verdict_.warnings.push_back(fmt::format("line {}: {}", verdict_.num_lines, what));
    }
  }
  void Take(std::string_view text) {
    const std::optional<ChainedLine> line = ReadLine(text);
    if (!line.has_value() || line->chain.empty()) {
      // Where a chain begins after it, that vouches for it; else it is not of the log.
      unvouched_.push_back(verdict_.num_lines);
      is_last_whole_ = line.has_value();
      Warn(line.has_value() ? "has no hash" : "was cut short, or is not JSON");
      return;
    }
    if (line->begins) {
      ++verdict_.num_beginnings;
      if (line->chain != Next(HashOf(all_.substr(0, position_)), line->line)) {
        Break("the hash that begins here does not match all before it: something there was changed");
      }
    } else if (!unvouched_.empty()) {
      Break("follows a line without a hash: something was inserted, or changed");
    } else if (line->chain != Next(chain_, line->line)) {
      Break("its hash does not match: this line, or what was before it, was changed or removed");
    }
    unvouched_.clear();
    ++verdict_.num_chained;
    chain_ = line->chain;
  }

  AuditVerdict verdict_;
  std::string_view all_;
  size_t position_ = 0;
  std::string chain_;
  std::vector<uint64_t> unvouched_;  // lines without a hash since the last one with
  bool is_last_whole_ = true;        // the last of these
};

}  // namespace

Result<AuditLog> AuditLog::Open(const std::string& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return CannotOpen(path, std::strerror(errno));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return CannotOpen(path, std::strerror(errno));
  // A device or a pipe: there is nothing before it.
  if (!S_ISREG(status.st_mode)) return AuditLog(path, std::move(file), HashOf(""), true);
  if ((status.st_mode & 077) != 0 && fchmod(file.get(), 0600) != 0) {
    return CannotOpen(path, "others may read or write it, and that can't be changed");
  }
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return CannotOpen(path, "another process writes it");
  const auto bytes = ReadWholeFile(path);
  if (!bytes.ok()) return CannotOpen(path, bytes.status().message());
  const auto last = ReadLine(LastWholeLine(*bytes));
  if (last.has_value() && !last->chain.empty()) return AuditLog(path, std::move(file), last->chain, false);
  std::string before = *bytes;
  if (!before.empty() && before.back() != '\n') {
    if (write(file.get(), "\n", 1) != 1) return CannotOpen(path, std::strerror(errno));
    before += '\n';
  }
  return AuditLog(path, std::move(file), HashOf(before), true);
}

Status AuditLog::Write(const controller::AuditEntry& entry) { return Write(ToJson(entry)); }

Status AuditLog::Write(const report::Json& entry) {
  Json line = entry;
  if (begins_) line[kBegins] = true;
  // As a reader has it: numbers and texts that JSON can't carry have been replaced.
  line = Json::parse(TextOf(line));
  std::string chain = Next(chain_, line);
  line[kChain] = chain;
  const std::string text = TextOf(line) + "\n";
  errno = 0;
  const off_t before = lseek(file_.get(), 0, SEEK_END);
  const ssize_t written = write(file_.get(), text.data(), text.size());
  // EINVAL: a device, which keeps nothing.
  const auto is_kept = [this] { return fdatasync(file_.get()) == 0 || errno == EINVAL; };
  if (written == static_cast<ssize_t>(text.size()) && is_kept()) {
    chain_ = std::move(chain);
    begins_ = false;
    return OkStatus();
  }
  const int error = written >= 0 && errno == 0 ? ENOSPC : errno;
  // Half a line would be in the way of the next one.
  if (written > 0 && before >= 0 && ftruncate(file_.get(), before) != 0) begins_ = true;
  return {StatusCode::kResourceExhausted,
          fmt::format("{}: the audit log can't be written: {}", path_, std::strerror(error))};
}

Result<AuditVerdict> VerifyAuditLog(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  return Verifier().Verify(bytes);
}

}  // namespace fairlead::service
