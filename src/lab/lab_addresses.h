// The addresses of a lab as the controller needs them: the NIC and the link of each.
#pragma once

#include "base/status.h"
#include "lab/lab_plan.h"
#include "topology/address_book.h"
#include "topology/fabric.h"

namespace fairlead::lab {

// Args: fabric: the one that `plan` was made of.
topology::AddressBook AddressBookOf(const topology::Fabric& fabric, const LabPlan& plan);

}  // namespace fairlead::lab
