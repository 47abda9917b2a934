// A stream to the controller as the agent's link.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "service/agent/controller_link.h"
#include "service/streams/controller_client.h"

namespace fairlead::service {

class ClientLink final : public ControllerLink {
 public:
  explicit ClientLink(std::unique_ptr<ControllerClient> client) : client_(std::move(client)) {}

  int event_descriptor() const override { return client_->event_descriptor(); }
  std::vector<ClientEvent> Poll() override { return client_->Poll(); }
  bool Send(const controller::FromAgent& message) override { return client_->Send(message); }

 private:
  std::unique_ptr<ControllerClient> client_;
};

}  // namespace fairlead::service
