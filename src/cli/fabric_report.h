// What `fairlead fabric show` says of a fabric: its layers, single points of failure, what is cabled unlike the rest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/document.h"
#include "topology/cabling_oddities.h"
#include "topology/fabric.h"
#include "topology/layer_summary.h"
#include "topology/single_points.h"

namespace fairlead::cli {

struct FabricPicture {
  std::vector<topology::LayerSummary> layers;
  std::vector<topology::SinglePoint> single_points;
  topology::CablingOddities oddities;
};

FabricPicture LookAt(const topology::Fabric& fabric);

// Args: name: the file; rows_max: of the lists of single points and of oddities; what is longer says how many more.
report::Document RenderFabric(const topology::Fabric& fabric, const FabricPicture& picture, const std::string& name,
                              size_t rows_max);
// All of it.
nlohmann::ordered_json FabricJson(const topology::Fabric& fabric, const FabricPicture& picture);

}  // namespace fairlead::cli
