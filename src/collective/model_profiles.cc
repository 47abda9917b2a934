#include "collective/model_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/nearest_word.h"
#include "collective/embedded_profiles.h"
#include "collective/model_profile_yaml.h"

namespace fairlead::collective {
namespace {

// Sorted, so that the same directory gives the same messages everywhere.
Result<std::vector<std::string>> ListYamlFiles(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") paths.push_back(entry->path().string());
  }
  if (error) return NotFound(fmt::format("model profiles: cannot list '{}': {}", directory, error.message()));
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

ModelProfiles ModelProfiles::BuiltIn() {
  ModelProfiles profiles;
  for (const EmbeddedProfile& file : EmbeddedProfiles()) {
    profiles.Add(ParseModelProfile(file.text, std::string(file.file_name)).value());
  }
  return profiles;
}

void ModelProfiles::Add(ModelProfile profile) {
  std::string name = profile.name;
  profiles_.insert_or_assign(std::move(name), std::move(profile));
}

Result<const ModelProfile*> ModelProfiles::Find(std::string_view name) const {
  const auto found = profiles_.find(name);
  if (found == profiles_.end()) {
    return NotFound(UnknownName("model profile", name, Names()));
  }
  return &found->second;
}

std::vector<std::string> ModelProfiles::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, profile] : profiles_) names.push_back(name);
  return names;
}

Result<ModelProfiles> LoadModelProfiles(const std::string& directory) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListYamlFiles(directory));
  ModelProfiles profiles = ModelProfiles::BuiltIn();
  std::map<std::string, std::string> path_of;
  for (const std::string& path : paths) {
    FL_ASSIGN_OR_RETURN(ModelProfile profile, LoadModelProfileFile(path));
    const auto [first, is_new] = path_of.try_emplace(profile.name, path);
    if (!is_new) {
      return Status(StatusCode::kAlreadyExists, fmt::format("{}: the model profile '{}' is already defined by {}", path,
                                                            profile.name, first->second));
    }
    profiles.Add(std::move(profile));
  }
  return profiles;
}

}  // namespace fairlead::collective
