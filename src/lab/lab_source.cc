#include "lab/lab_source.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "base/yaml_reader.h"
#include "sim/scenario.h"
#include "topology/fabric_yaml.h"

namespace fairlead::lab {

Result<topology::Fabric> LoadLabFabric(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  if (document.Root().Keys() == std::vector<std::string>{"fabric"}) return topology::LoadFabricFile(path);
  FL_ASSIGN_OR_RETURN(sim::Scenario scenario, sim::LoadScenario(path, {}));
  return std::move(scenario.fabric);
}

Result<std::string> ExtractFabric(const std::string& path) {
  FL_RETURN_IF_ERROR(LoadLabFabric(path).status());
  // It has been read as what it is, so what is asked for is there.
  const YAML::Node root = YAML::LoadFile(path);
  if (const YAML::Node other = root["fabric_file"]) {
    const std::filesystem::path file = other.as<std::string>();
    return ExtractFabric((std::filesystem::path(path).parent_path() / file).string());
  }
  YAML::Node fabric;
  fabric["fabric"] = root["fabric"];
  return YAML::Dump(fabric) + "\n";
}

}  // namespace fairlead::lab
