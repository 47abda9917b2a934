// The texts of profiles/*.yaml, put into the library by cmake/embed_texts.cmake.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::collective {

struct EmbeddedProfile {
  std::string_view file_name;  // "bert-large.yaml"
  std::string_view text;
};

// Sorted by file name.
std::span<const EmbeddedProfile> EmbeddedProfiles();

}  // namespace fairlead::collective
