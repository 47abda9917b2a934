// Which reports of one sender have been seen? Tells repeated ones from late ones, in constant memory.
#pragma once

#include <cstdint>

namespace fairlead::diagnosis::c4d {

class ReportNumbers {
 public:
  // Whether the report of this number is new. Numbers more than 63 behind the newest count as seen.
  bool Accept(uint64_t number) {
    if (seen_ == 0 || number > newest_) {
      const uint64_t ahead = seen_ == 0 ? 0 : number - newest_;
      seen_ = ahead >= 64 ? 1 : (seen_ << ahead) | 1;
      newest_ = number;
      return true;
    }
    const uint64_t behind = newest_ - number;
    if (behind >= 64 || (seen_ >> behind & 1) != 0) return false;
    seen_ |= uint64_t{1} << behind;
    return true;
  }

 private:
  uint64_t newest_ = 0;
  uint64_t seen_ = 0;  // bit b: number newest_ - b
};

}  // namespace fairlead::diagnosis::c4d
