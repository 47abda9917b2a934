#include "service/controller/telemetry_recorder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "telemetry/telemetry_dump.h"

namespace fairlead::service {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "telemetry-";
constexpr std::string_view kSuffix = ".jsonl";
constexpr uint64_t kBytesMin = 1'000'000;
constexpr uint64_t kFilesInFolder = 8;  // of the greatest size
constexpr SimDuration kRetryAfter = SimDuration(60'000'000'000);

Status CannotWrite(const std::string& path, int error) {
  return {StatusCode::kFailedPrecondition,
          fmt::format("telemetry can't be kept in {}: {}", path, std::strerror(error))};
}

// The recordings of all jobs.
class RecordingFolder {
 public:
  explicit RecordingFolder(const TelemetryRecorderOptions& options) : options_(options) {}

  Status Prepare() const {
    if (mkdir(options_.folder.c_str(), 0700) != 0 && errno != EEXIST) return CannotWrite(options_.folder, errno);
    std::error_code error;
    if (!fs::is_directory(options_.folder, error)) return CannotWrite(options_.folder, ENOTDIR);
    return access(options_.folder.c_str(), R_OK | W_OK | X_OK) == 0 ? OkStatus() : CannotWrite(options_.folder, errno);
  }

  uint64_t file_bytes_max() const { return options_.bytes_max / kFilesInFolder; }

  // A new file, of a name that no other has.
  Result<std::pair<std::string, Descriptor>> Create(const std::string& job, SimTime now) {
    const std::lock_guard lock(mutex_);
    RemoveOldest();
    const std::string stem = fmt::format("{}/{}{}-{:%Y%m%dT%H%M%SZ}", options_.folder, kPrefix, job,
                                         fmt::gmtime(static_cast<std::time_t>(now.ns() / 1'000'000'000)));
    for (uint32_t number = 0;; ++number) {
      std::string path = fmt::format("{}-{}{}", stem, number, kSuffix);
      Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
      if (file.is_open()) {
        open_.insert(path);
        return std::pair(std::move(path), std::move(file));
      }
      if (errno != EEXIST) return CannotWrite(path, errno);
    }
  }

  void Release(const std::string& path) {
    const std::lock_guard lock(mutex_);
    open_.erase(path);
  }

 private:
  struct Recorded {
    fs::path path;
    uint64_t bytes = 0;
    fs::file_time_type written;
  };

  std::vector<Recorded> List() const {
    std::vector<Recorded> files;
    std::error_code error;
    for (auto entry = fs::directory_iterator(options_.folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
      std::error_code gone;
      const uint64_t bytes = entry->file_size(gone);
      const auto written = entry->last_write_time(gone);
      if (!gone) files.push_back({entry->path(), bytes, written});
    }
    return files;
  }

  // Until one file of the greatest size has room; never those that are being written.
  void RemoveOldest() const {
    std::vector<Recorded> files = List();
    std::ranges::sort(files, {}, [](const Recorded& file) { return std::pair(file.written, file.path); });
    uint64_t bytes = file_bytes_max();
    for (const Recorded& file : files) bytes += file.bytes;
    for (const Recorded& file : files) {
      if (bytes <= options_.bytes_max) return;
      std::error_code error;
      if (open_.contains(file.path) || !fs::remove(file.path, error)) continue;
      bytes -= file.bytes;
    }
  }

  const TelemetryRecorderOptions options_;
  std::mutex mutex_;
  std::set<std::string> open_;  // paths
};

class RecordedDiagnosis final : public diagnosis::JobDiagnosis {
 public:
  RecordedDiagnosis(std::shared_ptr<RecordingFolder> folder, std::string job,
                    std::unique_ptr<diagnosis::JobDiagnosis> diagnosis)
      : folder_(std::move(folder)), job_(std::move(job)), diagnosis_(std::move(diagnosis)) {}
  ~RecordedDiagnosis() override { Close(); }

  std::vector<model::Finding> Handle(SimTime now, std::span<const model::TelemetryRecord> records) override {
    for (const model::TelemetryRecord& record : records) {
      const auto* layout = std::get_if<model::JobLayout>(&record);
      if (layout != nullptr) {
        Flush(now);
        Close();
        layout_ = *layout;
      } else {
        Add(now, record);
      }
    }
    Flush(now);
    return diagnosis_->Handle(now, records);
  }
  void NoteAnswer(SimTime now, HostId host) override { diagnosis_->NoteAnswer(now, host); }
  void ExcuseUntil(SimTime time) override { diagnosis_->ExcuseUntil(time); }
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const override { return diagnosis_->ProofOf(id); }
  bool HasCrashed(SimTime now) const override { return diagnosis_->HasCrashed(now); }

 private:
  void Add(SimTime now, const model::TelemetryRecord& record) {
    if (!layout_.has_value() || (retry_at_.has_value() && now < *retry_at_)) return;
    if (!writer_.has_value() && !Begin(now)) return;
    if (const Status status = writer_->Write(record); !status.ok()) Fail(now, status);
  }

  bool Begin(SimTime now) {
    auto created = folder_->Create(job_, now);
    if (!created.ok()) {
      Fail(now, created.status());
      return false;
    }
    std::tie(path_, file_) = std::move(*created);
    bytes_ = 0;
    writer_.emplace(text_);
    if (const Status status = writer_->Write(*layout_); !status.ok()) {
      Fail(now, status);
      return false;
    }
    retry_at_.reset();
    return true;
  }

  // All that waits, or nothing of it.
  void Flush(SimTime now) {
    const std::string text = std::exchange(text_, std::ostringstream()).str();
    if (!writer_.has_value() || text.empty()) return;
    for (size_t written = 0; written < text.size();) {
      const ssize_t size = write(file_.get(), text.data() + written, text.size() - written);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        const int error = errno;
        if (ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) {
          spdlog::warn("{}: its last record is not whole", path_);
        }
        return Fail(now, CannotWrite(path_, error));
      }
      written += static_cast<size_t>(size);
    }
    bytes_ += text.size();
    if (bytes_ >= folder_->file_bytes_max()) Close();
  }

  void Fail(SimTime now, const Status& status) {
    spdlog::warn("telemetry of job {} is not recorded for a minute: {}", job_, status.message());
    Close();
    retry_at_ = now + kRetryAfter;
  }

  void Close() {
    if (file_.is_open()) folder_->Release(path_);
    file_ = Descriptor();
    writer_.reset();
    text_ = std::ostringstream();
  }

  const std::shared_ptr<RecordingFolder> folder_;
  const std::string job_;
  const std::unique_ptr<diagnosis::JobDiagnosis> diagnosis_;
  std::optional<model::JobLayout> layout_;
  std::ostringstream text_;  // that waits to be written
  std::optional<telemetry::TelemetryWriter> writer_;
  std::string path_;
  Descriptor file_;
  uint64_t bytes_ = 0;  // of the file
  std::optional<SimTime> retry_at_;
};

}  // namespace

Result<diagnosis::JobDiagnosisFactory> RecordTelemetry(const TelemetryRecorderOptions& options,
                                                       diagnosis::JobDiagnosisFactory make_diagnosis) {
  if (options.bytes_max < kBytesMin) {
    return InvalidArgument(
        fmt::format("telemetry needs space for at least {} bytes; found {}", kBytesMin, options.bytes_max));
  }
  auto folder = std::make_shared<RecordingFolder>(options);
  FL_RETURN_IF_ERROR(folder->Prepare());
  return diagnosis::JobDiagnosisFactory([folder, make_diagnosis = std::move(make_diagnosis)](const std::string& job) {
    return std::make_unique<RecordedDiagnosis>(folder, job, make_diagnosis(job));
  });
}

}  // namespace fairlead::service
