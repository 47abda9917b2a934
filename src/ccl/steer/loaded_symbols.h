// Functions that the process has beside this library's: the next ones of the same name, and those of libraries that it
// has loaded.
//
// This library overrides the look-ups of the C library themselves, and it has to load where those are older than the
// ones that it was built with. So it finds them where the loader does: in the symbol tables of the objects that are
// loaded.
#pragma once

namespace fairlead::ccl {

using DlsymFunction = void* (*)(void* handle, const char* symbol);
using DlvsymFunction = void* (*)(void* handle, const char* symbol, const char* version);

// Those of the C library; null: it has none (before glibc 2.34 a program has them only with libdl).
DlsymFunction RealDlsym();
DlvsymFunction RealDlvsym();

// Not strcmp(): a sanitizer of the process looks up what it replaces while it begins; its strcmp() is not there yet.
constexpr bool IsSameName(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b) {
    if (*a == '\0') return true;
  }
  return false;
}

// The function of that name behind this library; null: there is none.
void* FindNext(const char* symbol);
// Of a library that the process has loaded; null when it has not.
void* FindLoaded(const char* library, const char* symbol);

}  // namespace fairlead::ccl
