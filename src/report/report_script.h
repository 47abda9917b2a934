// The script that pages carry in themselves (web/report/report.js, with what it imports), and its hash.
#pragma once

#include <string_view>

namespace fairlead::report {

std::string_view ReportScript();
// As a Content-Security-Policy names it: "sha256-…".
std::string_view ReportScriptHash();

}  // namespace fairlead::report
