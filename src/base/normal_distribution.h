// The standard normal distribution.
#pragma once

namespace fairlead {

double NormalDensity(double z);

// Of a value at most z.
double NormalCdf(double z);

// The z at which NormalCdf is `probability`, to 1e-9. Args: 0 < probability < 1.
double NormalQuantile(double probability);

}  // namespace fairlead
