// A culprit in words, for summaries.
#pragma once

#include <string>

#include "model/finding.h"

namespace fairlead::diagnosis::c4d {

// Such as "the connection from rank 3 to rank 4" or "the transmit side of NIC 7 of host 0".
std::string CulpritText(const model::Culprit& culprit);

}  // namespace fairlead::diagnosis::c4d
