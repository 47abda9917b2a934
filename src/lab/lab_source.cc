#include "lab/lab_source.h"

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

}  // namespace fairlead::lab
