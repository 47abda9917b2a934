// Which model profiles are known: those compiled into the library from profiles/*.yaml, and a user's own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collective/model_profile.h"

namespace fairlead::collective {

// Profiles by name.
class ModelProfiles {
 public:
  // The profiles of this build. Independent of the working directory and of any file. Cost: parses about 20 small
  // texts.
  static ModelProfiles BuiltIn();

  // Adds a profile; one of the same name is replaced.
  void Add(ModelProfile profile);
  // The profile, valid until the next Add. Errors: kNotFound, listing the known names.
  Result<const ModelProfile*> Find(std::string_view name) const;
  std::vector<std::string> Names() const;  // sorted
  size_t size() const { return profiles_.size(); }

 private:
  std::map<std::string, ModelProfile, std::less<>> profiles_;
};

// The built-in profiles, and over them every *.yaml of `directory`. Errors: no such directory, an unreadable or wrong
// file, two files with one name.
Result<ModelProfiles> LoadModelProfiles(const std::string& directory);

}  // namespace fairlead::collective
