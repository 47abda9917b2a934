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

Result<std::string> DescribeLabFabric(const std::string& path, double scale) {
  FL_RETURN_IF_ERROR(LoadLabFabric(path).status());
  // It was read as its own kind, so the requested value is there.
  const YAML::Node root = YAML::LoadFile(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (const YAML::Node other = root["fabric_file"]) return DescribeLabFabric(folder / other.as<std::string>(), scale);
  YAML::Node document;
  YAML::Node fabric = document["fabric"] = root["fabric"];
  if (const YAML::Node file = fabric["file"]) fabric["file"] = (folder / file.as<std::string>()).string();
  const YAML::Node before = fabric["speed_scale"];
  fabric["speed_scale"] = before ? before.as<double>() * scale : scale;
  return YAML::Dump(document) + "\n";
}

}  // namespace fairlead::lab
