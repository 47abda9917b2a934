// How a model profile is written down: YAML -> ModelProfile. See docs/internals/modules/collective.md for the keys.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "collective/model_profile.h"

namespace fairlead::collective {

// Errors: kNotFound, kResourceExhausted, kInvalidArgument: file, line, key, what was expected and found.
Result<ModelProfile> LoadModelProfileFile(const std::string& path);
// `file_name` replaces the file in messages.
Result<ModelProfile> ParseModelProfile(std::string_view text, const std::string& file_name);

}  // namespace fairlead::collective
