#include "sim/fwl_workload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace fairlead::sim {
namespace {

// Reads fields off the text and keeps the first error; after an error every read returns zero.
class FieldReader {
 public:
  FieldReader(std::string_view text, const std::string& name)
      : at_(text.data()), end_(at_ + text.size()), name_(name) {}

  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  size_t bytes_left() const { return static_cast<size_t>(end_ - at_); }
  bool at_end() const { return at_ == end_; }

  void Keyword(std::string_view keyword) {
    if (failed()) return;
    if (bytes_left() < keyword.size() || std::memcmp(at_, keyword.data(), keyword.size()) != 0 ||
        !EndsField(at_ + keyword.size())) {
      Fail(fmt::format("'{}'", keyword));
      return;
    }
    at_ += keyword.size();
  }

  // An integer in [min, max].
  int64_t Integer(std::string_view what, int64_t min, int64_t max) {
    int64_t value = 0;
    const char* const begin = Begin();
    if (failed()) return 0;
    const auto [stop, error] = std::from_chars(begin, end_, value);
    if (error != std::errc() || !EndsField(stop) || value < min || value > max) {
      Fail(fmt::format("{} in [{}, {}]", what, min, max));
      return 0;
    }
    at_ = stop;
    return value;
  }

  // A finite number in [min, max].
  double Number(std::string_view what, double min, double max) {
    double value = 0;
    const char* const begin = Begin();
    if (failed()) return 0;
    const auto [stop, error] = std::from_chars(begin, end_, value);
    if (error != std::errc() || !EndsField(stop) || !(value >= min && value <= max)) {
      Fail(fmt::format("{} in [{}, {}]", what, min, max));
      return 0;
    }
    at_ = stop;
    return value;
  }

  void EndLine() {
    if (failed() || at_end()) return;
    if (*at_ != '\n') {
      Fail("the end of the line");
      return;
    }
    ++at_;
    ++line_;
  }

  // Refuses a count of things that take at least `bytes_each` bytes of text, when there is not as much text left.
  void CheckCount(std::string_view what, int64_t count, size_t bytes_each) {
    if (failed() || static_cast<uint64_t>(count) <= (bytes_left() + 1) / bytes_each) return;
    status_ = InvalidArgument(fmt::format("{}:{}: expected {} {}, found only {} bytes after this line", name_, line_,
                                          count, what, bytes_left()));
  }

  void Fail(const std::string& expected) {
    if (failed()) return;
    const char* begin = at_;
    if (begin < end_ && *begin == ' ') ++begin;
    const char* stop = begin;
    while (stop < end_ && *stop != ' ' && *stop != '\n' && stop - begin < 40) ++stop;
    std::string found = begin == end_ ? "the end of the file" : fmt::format("'{}'", std::string_view(begin, stop));
    if (begin < end_ && *begin == '\n') found = "the end of the line";
    status_ = InvalidArgument(fmt::format("{}:{}: expected {}, found {}", name_, line_, expected, found));
  }

 private:
  bool EndsField(const char* p) const { return p == end_ || *p == ' ' || *p == '\n'; }

  // Steps over the space before a field.
  const char* Begin() {
    if (!failed() && !at_end() && *at_ == ' ') return at_ + 1;
    return at_;
  }

  const char* at_;
  const char* end_;
  const std::string& name_;
  int64_t line_ = 1;
  Status status_;
};

// The least text of one flow ("f 1 1 0\n"), one job and one link id on a flow's line.
constexpr size_t kLeastFlowBytes = 8;
constexpr size_t kLeastJobBytes = 16;
constexpr size_t kLeastLinkBytes = 2;

class WorkloadParser {
 public:
  WorkloadParser(std::string_view text, const std::string& name) : reader_(text, name) {}

  Result<FwlWorkload> Parse() {
    const int64_t num_jobs = ParseHeader();
    if (!reader_.failed()) workload_.jobs.reserve(static_cast<size_t>(num_jobs));
    for (int64_t j = 0; j < num_jobs && !reader_.failed(); ++j) ParseJob();
    if (!reader_.failed() && !reader_.at_end()) reader_.Fail("the end of the file");
    if (reader_.failed()) return reader_.status();
    return std::move(workload_);
  }

 private:
  int64_t ParseHeader() {
    reader_.Keyword("fwl");
    reader_.Integer("version", 1, 1);
    reader_.EndLine();
    reader_.Keyword("linkcaps");
    num_file_links_ = static_cast<uint32_t>(reader_.Integer("a number of links", 0, kFwlMaxLinks));
    workload_.capacity = reader_.Number("a capacity", std::numeric_limits<double>::min(), 1e18);
    reader_.EndLine();
    reader_.Keyword("jobs");
    const int64_t num_jobs = reader_.Integer("a number of jobs", 0, UINT32_MAX);
    reader_.EndLine();
    reader_.CheckCount("jobs", num_jobs, kLeastJobBytes);
    return num_jobs;
  }

  void ParseJob() {
    FwlJob job{};
    reader_.Keyword("job");
    job.id = reader_.Integer("a job id", 0, std::numeric_limits<int64_t>::max());
    job.priority = static_cast<uint32_t>(reader_.Integer("a priority", 0, INT32_MAX));
    job.compute_s = reader_.Number("compute seconds", 0, kFwlMaxSeconds);
    job.iterations = static_cast<uint32_t>(reader_.Integer("a number of iterations", 0, MaxIterations(job.compute_s)));
    job.start_s = reader_.Number("a start in seconds", 0, kFwlMaxSeconds);
    job.num_flows = static_cast<uint32_t>(reader_.Integer("a number of flows", 0, UINT32_MAX));
    reader_.EndLine();
    reader_.CheckCount("flows", job.num_flows, kLeastFlowBytes);
    job.first_flow = static_cast<uint32_t>(workload_.flows.size());
    for (uint32_t f = 0; f < job.num_flows && !reader_.failed(); ++f) ParseFlow();
    workload_.jobs.push_back(job);
  }

  static int64_t MaxIterations(double compute_s) {
    return compute_s * INT32_MAX <= kFwlMaxSeconds ? INT32_MAX : static_cast<int64_t>(kFwlMaxSeconds / compute_s);
  }

  void ParseFlow() {
    reader_.Keyword("f");
    FwlFlow flow{};
    flow.bytes = reader_.Number("bytes", 0, 1e18);
    flow.num_links = static_cast<uint32_t>(reader_.Integer("a number of links", 1, UINT32_MAX));
    reader_.CheckCount("links", flow.num_links, kLeastLinkBytes);
    flow.first_link = static_cast<uint32_t>(workload_.route_links.size());
    for (uint32_t l = 0; l < flow.num_links && !reader_.failed(); ++l) {
      const int64_t link = reader_.Integer("a link id", 0, static_cast<int64_t>(num_file_links_) - 1);
      if (!reader_.failed()) workload_.route_links.push_back(DenseLink(static_cast<uint32_t>(link)));
    }
    reader_.EndLine();
    workload_.flows.push_back(flow);
  }

  uint32_t DenseLink(uint32_t file_link) {
    if (file_link >= dense_links_.size()) dense_links_.resize(file_link + 1, kUnused);
    uint32_t& dense = dense_links_[file_link];
    if (dense == kUnused) dense = workload_.num_links++;
    return dense;
  }

  static constexpr uint32_t kUnused = UINT32_MAX;

  FieldReader reader_;
  FwlWorkload workload_;
  uint32_t num_file_links_ = 0;
  std::vector<uint32_t> dense_links_;  // [link id in the file]
};

// A file mapped read-only for as long as this lives.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return NotFound(fmt::format("{}: {}", path, std::strerror(errno)));
    struct stat info {};
    const bool regular = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
    void* data = nullptr;
    if (regular && info.st_size > 0) {
      data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
    if (!regular) return InvalidArgument(fmt::format("{}: expected a regular file", path));
    if (data == MAP_FAILED) return Unavailable(fmt::format("{}: can't be mapped: {}", path, std::strerror(errno)));
    return MappedFile(static_cast<const char*>(data), static_cast<size_t>(info.st_size));
  }

  MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }

  std::string_view text() const { return {data_, data_ == nullptr ? 0 : size_}; }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_;
  size_t size_;
};

}  // namespace

Result<FwlWorkload> ParseFwlWorkload(std::string_view text, const std::string& name) {
  return WorkloadParser(text, name).Parse();
}

Result<FwlWorkload> LoadFwlWorkload(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  return ParseFwlWorkload(file.text(), path);
}

}  // namespace fairlead::sim
