// The files that experiments read, put into the program by cmake/embed_texts.cmake.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::experiments {

struct EmbeddedText {
  std::string_view path;  // from the root of the source tree: "experiments/crux-examples/paper.yaml"
  std::string_view text;
};

// Every experiments/*/*.yaml, and the fabrics that experiments run on.
std::span<const EmbeddedText> EmbeddedTexts();

// The text of a file that must be embedded.
std::string_view FindEmbeddedText(std::string_view path);

}  // namespace fairlead::experiments
