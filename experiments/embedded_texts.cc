#include "experiments/embedded_texts.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace fairlead::experiments {

std::string_view FindEmbeddedText(std::string_view path) {
  const auto texts = EmbeddedTexts();
  const auto found = std::ranges::find(texts, path, &EmbeddedText::path);
  FL_CHECK_MSG(found != texts.end(), std::string(path) + " is not embedded");
  return found->text;
}

}  // namespace fairlead::experiments
