// Numbers on the command line that are none: NaN, infinity, and what is too large for a clock.
#pragma once

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::cli {

// Every option of the app and its subcommands that takes a floating-point number refuses what is not finite or beyond
// 9e9, the seconds that SimDuration can hold, before its own range is looked at: no comparison with NaN is ever true,
// so that ranges let it through. Minus zero becomes zero. Call when all options are there.
void CheckNumberOptions(CLI::App* app);

}  // namespace fairlead::cli
