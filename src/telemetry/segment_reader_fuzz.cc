// Any bytes as a segment that changes while it is read: an error, or values within the stated bounds, of which the
// tracker makes reports that fit together.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"
#include "telemetry/segment_example.h"

namespace {

// A sound header, and pieces of the input at places that the input names: an offset in the tables, a length, bytes.
class FuzzedSegment {
 public:
  FuzzedSegment(const uint8_t* data, size_t size) : data_(data), size_(size) {
    for (int i = 0; i < 64; ++i) Change();
  }
  void Change() {
    if (size_ < 4) return;
    uint32_t place = 0;
    memcpy(&place, data_, 3);
    const size_t length = std::min<size_t>(data_[3], size_ - 4);
    const size_t offset = place % (segment_.size() - 255);
    memcpy(segment_.data() + offset, data_ + 4, length);
    data_ += 4 + length;
    size_ -= 4 + length;
  }
  bool Read(size_t offset, std::span<std::byte> to) {
    FL_CHECK(offset + to.size() <= segment_.size());
    memcpy(to.data(), segment_.data() + offset, to.size());
    Change();
    return true;
  }

 private:
  using Bytes = std::array<std::byte, sizeof(fairlead::shm::ProfilerSegment)>;
  static_assert(sizeof(Bytes) < 64'000, "small tables (FAIRLEAD_SMALL_SEGMENT): most of a run is clearing and copying");

  static Bytes Sound() {
    Bytes bytes = {};
    fairlead::telemetry::PutSegmentHeader(bytes);
    return bytes;
  }

  static inline const Bytes kSound = Sound();
  Bytes segment_ = kSound;
  const uint8_t* data_;
  size_t size_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedSegment segment(data, size);
  fairlead::telemetry::SegmentTracker tracker({});
  for (int64_t look = 1; look <= 3; ++look) {
    const auto contents = fairlead::telemetry::ReadSegment(
        [&](size_t offset, std::span<std::byte> to) { return segment.Read(offset, to); });
    if (!contents.ok()) {
      FL_CHECK(!contents.status().message().empty());
      continue;
    }
    FL_CHECK_MSG(fairlead::telemetry::FindFault(*contents).empty(), fairlead::telemetry::FindFault(*contents));
    const auto report = tracker.Look(*contents, look * 1'000'000'000);
    FL_CHECK_MSG(fairlead::telemetry::FindFault(report).empty(), fairlead::telemetry::FindFault(report));
  }
  return 0;
}
