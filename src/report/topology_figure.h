// A picture of a fabric (topology_picture.h), drawn: without script, and on paper.
#pragma once

#include <string>

#include "report/topology_picture.h"

namespace fairlead::report {

struct TopologyFigure {
  std::string title;
  std::string description;
  std::string load_label;  // what the colours of links say: "utilization"
  double width = 1080;
};

// Tiers from below, cables between them: coloured by load, wide by capacity, dashed where something is down. Names that
// do not fit into their boxes are upright.
std::string Draw(const TopologyFigure& figure, const TopologyPicture& picture);

}  // namespace fairlead::report
