#include "base/random.h"

#include <bit>
#include <cmath>

#include "base/check.h"

namespace fairlead {

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    word = MixBits(seed);
    seed += 0x9e3779b97f4a7c15ULL;
  }
}

uint64_t Random::operator()() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t n) {
  FL_DCHECK(n >= 1);
  // Rejects the incomplete last block, so that every residue is equally likely.
  const uint64_t limit = max() - max() % n;
  uint64_t x = (*this)();
  while (x >= limit) x = (*this)();
  return x % n;
}

double Random::Uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

double Random::Exponential(double mean) { return -mean * std::log1p(-Uniform()); }

}  // namespace fairlead
