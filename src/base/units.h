// Physical quantities as types: a bandwidth can't be handed over where a byte count is meant.
//
// All are doubles in SI base units (bytes, seconds, floating-point operations); only the simulation clock is an integer
// (sim_time.h). Arithmetic exists where the physics does: Bytes / BytesPerSecond is Seconds, and nothing else is.
#pragma once

#include <compare>

namespace fairlead {

// A double with a dimension. Cost: none, it compiles to the double.
template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  constexpr Quantity& operator+=(Quantity b) {
    value_ += b.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value_ -= b.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

using Bytes = Quantity<struct BytesTag>;
using Seconds = Quantity<struct SecondsTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
// Floating-point operations (work), and their rate.
using Flop = Quantity<struct FlopTag>;
using FlopPerSecond = Quantity<struct FlopPerSecondTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond r) { return Seconds(b.value() / r.value()); }
constexpr BytesPerSecond operator/(Bytes b, Seconds t) { return BytesPerSecond(b.value() / t.value()); }
constexpr Bytes operator*(BytesPerSecond r, Seconds t) { return Bytes(r.value() * t.value()); }
constexpr Bytes operator*(Seconds t, BytesPerSecond r) { return r * t; }
constexpr Seconds operator/(Flop w, FlopPerSecond r) { return Seconds(w.value() / r.value()); }
constexpr FlopPerSecond operator/(Flop w, Seconds t) { return FlopPerSecond(w.value() / t.value()); }
constexpr Flop operator*(FlopPerSecond r, Seconds t) { return Flop(r.value() * t.value()); }

// Link speeds as people say them: networks in Gb/s (1e9 bit/s), links inside a host in GB/s (1e9 byte/s).
constexpr BytesPerSecond GigabitsPerSecond(double v) { return BytesPerSecond(v * 1e9 / 8); }
constexpr BytesPerSecond GigabytesPerSecond(double v) { return BytesPerSecond(v * 1e9); }

}  // namespace fairlead
