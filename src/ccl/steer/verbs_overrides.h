// The functions of libibverbs that this library overrides, and what lies behind them.
#pragma once

#include <infiniband/verbs.h>

#include "ccl/steer/loaded_symbols.h"

namespace fairlead::ccl {

using ModifyFunction = int (*)(ibv_qp*, ibv_qp_attr*, int);
using DestroyFunction = int (*)(ibv_qp*);

// Those of the library of verbs; null: the process has none.
ModifyFunction NextModify();
DestroyFunction NextDestroy();

inline bool IsOverridden(const char* symbol) {
  return symbol != nullptr && (IsSameName(symbol, "ibv_modify_qp") || IsSameName(symbol, "ibv_destroy_qp"));
}

// What a look-up of such a symbol is to return, which has found `found`: ours, which will call that.
void* Override(const char* symbol, void* found);

}  // namespace fairlead::ccl
