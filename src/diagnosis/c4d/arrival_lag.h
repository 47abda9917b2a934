// When did each rank reach a collective, by two clocks that have nothing in common?
//
//     ByStart       its kernel's start, less the offset of the host's clock
//     ByTimeInside  the less time inside, the later it came, as all leave together; no clock is compared with another
//
// Reference   docs/spec/c4.md sections 3.3 and 6, steps 3 and 4.
#pragma once

#include <vector>

#include "diagnosis/c4d/clock_offsets.h"
#include "diagnosis/c4d/completed_operation.h"

namespace fairlead::diagnosis::c4d {

// Fills `arrivals` [rank of the communicator]: seconds after some instant of the operation.
void ArrivalsByStart(const CompletedOperation& operation, const ClockOffsets& offsets, std::vector<double>& arrivals);
void ArrivalsByTimeInside(const CompletedOperation& operation, std::vector<double>& arrivals);

}  // namespace fairlead::diagnosis::c4d
