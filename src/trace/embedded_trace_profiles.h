// The texts of trace_profiles/*.yaml, put into the library by cmake/embed_texts.cmake.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::trace {

struct EmbeddedTraceProfile {
  std::string_view file_name;  // "lingjun-2023.yaml"
  std::string_view text;
};

// Sorted by file name.
std::span<const EmbeddedTraceProfile> EmbeddedTraceProfiles();

}  // namespace fairlead::trace
