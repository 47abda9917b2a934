// Random messages of agents and controller, each within its contract: for properties of what carries them.
#pragma once

#include "base/random.h"
#include "controller/host_messages.h"

namespace fairlead::wire {

controller::FromAgent RandomFromAgent(Random* random);
controller::ToAgent RandomToAgent(Random* random);

}  // namespace fairlead::wire
