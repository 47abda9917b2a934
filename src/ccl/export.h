// Marks the functions that override those of other libraries; everything else stays inside.
#pragma once

#define FAIRLEAD_EXPORT extern "C" __attribute__((visibility("default")))
