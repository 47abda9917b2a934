// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace fairlead {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void Close() {
    if (is_open()) close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace fairlead
