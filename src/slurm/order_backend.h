// Steering's actions as orders for the engine's thread: hosts and jobs by the names that Slurm has for them.
#pragma once

#include <string_view>
#include <vector>

#include "controller/action_backend.h"
#include "slurm/step_orders.h"

namespace fairlead::slurm {

// Thread: steering's.
class OrderBackend final : public controller::ActionBackend {
 public:
  // `orders` must outlive this. Args: names: called by Begin().
  OrderBackend(StepOrders* orders, controller::SteeringNames names) : orders_(*orders), names_(std::move(names)) {}

  std::string_view name() const override { return "slurm"; }
  void Begin(SimTime now, const controller::SteeringAction& action) override;
  std::vector<controller::SteeringEvent> TakeOutcomes(SimTime) override { return orders_.TakeOutcomes(); }

 private:
  StepOrders& orders_;
  const controller::SteeringNames names_;
};

}  // namespace fairlead::slurm
