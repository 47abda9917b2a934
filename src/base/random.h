// Seeded pseudo-random numbers with the same sequence on every platform and standard library.
//
// std::uniform_real_distribution and friends may differ between libraries, so the few distributions that reach results
// are written out. Generator: xoshiro256** seeded by SplitMix64 (Blackman and Vigna, public domain algorithms).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace fairlead {

// One step of SplitMix64: a fast, well-mixed 64-bit hash of `x`.
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Order-dependent combination of two hashes.
constexpr uint64_t CombineHash(uint64_t a, uint64_t b) { return MixBits(a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6))); }

class Random {
 public:
  explicit Random(uint64_t seed);

  // Uniform over all 64-bit values. Satisfies UniformRandomBitGenerator.
  uint64_t operator()();
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  // Uniform in [0, n) without bias. n >= 1.
  uint64_t Below(uint64_t n);
  // Uniform in [0, 1), 53 bits.
  double Uniform();
  // Uniform in [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // Exponential with the given mean (> 0).
  double Exponential(double mean);

  // Fisher-Yates.
  template <class T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[Below(i)]);
    }
  }

 private:
  std::array<uint64_t, 4> state_;
};

}  // namespace fairlead
