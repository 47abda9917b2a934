// Does a transfer pass an element of the network, and is it slow with it?
#pragma once

#include <span>

#include "diagnosis/c4d/slow_elements.h"
#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// Args of these: transfer between ranks of the layout.

// Whether it is on the way from one end to the other, or back.
bool IsPassedBy(const model::JobLayout& layout, const Transfer& transfer, const model::Culprit& culprit);
bool IsPassedByOneOf(const model::JobLayout& layout, const Transfer& transfer,
                     std::span<const model::Culprit> culprits);
// Whether it is said to be slow: on its way there, not on that of acknowledgements.
bool IsAccusedBy(const model::JobLayout& layout, const Transfer& transfer, const model::Culprit& culprit);

}  // namespace fairlead::diagnosis::c4d
