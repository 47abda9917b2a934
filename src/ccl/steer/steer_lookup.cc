// libfairlead-steer.so, look-ups: where a process looks functions of verbs up itself, as NCCL does, it finds ours.
//
// Everything else is passed on by a jump, not a call: the caller of a lookup of the "next" symbol (RTLD_NEXT) is found
// by the return address, which must stay the caller's. GCC makes it one when it optimizes, Clang when an option asks
// for it.
#include "ccl/export.h"
#include "ccl/steer/loaded_symbols.h"
#include "ccl/steer/verbs_overrides.h"

#ifdef __clang__
#define FAIRLEAD_OPTIMIZED
#define FAIRLEAD_JUMP [[clang::musttail]] return
#else
#define FAIRLEAD_OPTIMIZED __attribute__((optimize("O2")))
#define FAIRLEAD_JUMP return
#endif

FAIRLEAD_EXPORT FAIRLEAD_OPTIMIZED void* dlvsym(void* handle, const char* symbol, const char* version) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const DlvsymFunction next = RealDlvsym();
  if (next == nullptr) return nullptr;
  if (!IsOverridden(symbol)) FAIRLEAD_JUMP next(handle, symbol, version);
  return Override(symbol, next(handle, symbol, version));
}

FAIRLEAD_EXPORT FAIRLEAD_OPTIMIZED void* dlsym(void* handle, const char* symbol) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const DlsymFunction next = RealDlsym();
  if (next == nullptr) return nullptr;
  if (!IsOverridden(symbol)) FAIRLEAD_JUMP next(handle, symbol);
  return Override(symbol, next(handle, symbol));
}
