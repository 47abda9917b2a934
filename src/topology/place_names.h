// What a fabric calls its hosts, NICs and leaf switches, as a table for texts.
#pragma once

#include "model/place_names.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Leaf switches are numbered as fabric.switches(kLeaf) has them. Cost: O(hosts + NICs + leaves).
model::PlaceNames NamePlaces(const Fabric& fabric);

}  // namespace fairlead::topology
