// Any bytes are a model profile or a clear error; a profile that loads gives finite numbers and iterations.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "collective/model_profile_yaml.h"
#include "collective/training_iteration.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fairlead::Bytes, fairlead::FlopPerSecond;
  using fairlead::collective::MakeRegularLayout, fairlead::collective::ParseModelProfile;
  const auto profile = ParseModelProfile({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!profile.ok()) {
    FL_CHECK(!profile.status().message().empty());
    return 0;
  }
  FL_CHECK(std::isfinite(Parameters(*profile)) && Parameters(*profile) > 0);
  FL_CHECK(std::isfinite(TrainingFlopPerSample(*profile).value()));
  const auto iteration =
      BuildIteration(*profile, DefaultParallelism(*profile, 16, 8), MakeRegularLayout(2, 8), FlopPerSecond(312e12));
  FL_CHECK_MSG(iteration.ok(), iteration.status().message());
  for (const auto& flow : iteration.value().flows) FL_CHECK(flow.bytes > Bytes(0) && std::isfinite(flow.bytes.value()));
  return 0;
}
