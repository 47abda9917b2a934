// The stream to the controller as the agent's loop sees it: a ControllerClient, or a substitute in tests.
#pragma once

#include <vector>

#include "controller/host_messages.h"
#include "service/streams/controller_client.h"

namespace fairlead::service {

// As ControllerClient's functions of these names.
class ControllerLink {
 public:
  virtual ~ControllerLink() = default;

  virtual int event_descriptor() const = 0;
  virtual std::vector<ClientEvent> Poll() = 0;
  virtual bool Send(const controller::FromAgent& message) = 0;
};

}  // namespace fairlead::service
