// Handlers of the alternatives of a std::variant, as one for std::visit:
//
//     std::visit(Overloaded{[](const Drain& drain) {…}, [](const Return& back) {…}}, operation)
#pragma once

namespace fairlead {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace fairlead
