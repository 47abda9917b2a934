#include "ccl/steer/loaded_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstdint>

namespace fairlead::ccl {
namespace {

using DlopenFunction = void* (*)(const char*, int);
using DlcloseFunction = int (*)(void*);

struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hashes = nullptr;
};

// NOLINTBEGIN(performance-no-int-to-ptr): addresses of loaded objects are numbers

// In loaded objects glibc has made addresses of the offsets, other loaders have not.
template <typename T>
const T* PointerTo(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value >= base ? value : base + value);
}

SymbolTables TablesOf(ElfW(Addr) base, const ElfW(Dyn) * entry) {
  SymbolTables tables;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) tables.symbols = PointerTo<ElfW(Sym)>(base, value);
    if (entry->d_tag == DT_STRTAB) tables.names = PointerTo<char>(base, value);
    if (entry->d_tag == DT_GNU_HASH) tables.hashes = PointerTo<uint32_t>(base, value);
  }
  return tables;
}

uint32_t HashOf(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
  return hash;
}

// The layout of DT_GNU_HASH: four numbers, a filter, buckets, and a chain whose last entries have the lowest bit set.
uintptr_t FindFunction(const SymbolTables& tables, const char* name) {
  const uint32_t num_buckets = tables.hashes[0], first_symbol = tables.hashes[1], num_filters = tables.hashes[2];
  const uint32_t* buckets = tables.hashes + 4 + num_filters * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = buckets + num_buckets;
  const uint32_t hash = HashOf(name);
  uint32_t i = num_buckets == 0 ? 0 : buckets[hash % num_buckets];
  if (i < first_symbol) return 0;
  for (;; ++i) {
    const uint32_t entry = chain[i - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[i];
    const bool is_function = symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 0xf) == STT_FUNC;
    if ((entry | 1) == (hash | 1) && is_function && IsSameName(tables.names + symbol.st_name, name)) {
      return symbol.st_value;
    }
    if ((entry & 1) != 0) return 0;
  }
}

// Null: the object has none of that name.
void* FindIn(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* name) {
  const SymbolTables tables = TablesOf(base, dynamic);
  if (tables.symbols == nullptr || tables.names == nullptr || tables.hashes == nullptr) return nullptr;
  const uintptr_t offset = FindFunction(tables, name);
  return offset == 0 ? nullptr : reinterpret_cast<void*>(base + offset);
}

const char* FileOf(const char* path) {
  const char* file = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') file = path + 1;
  }
  return file;
}

const ElfW(Dyn) * DynamicOf(ElfW(Addr) base, const ElfW(Phdr) * headers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_DYNAMIC) return reinterpret_cast<const ElfW(Dyn)*>(base + headers[i].p_vaddr);
  }
  return nullptr;
}

// What the loader has loaded, from the program on, as debuggers find it; null: it does not say.
const link_map* FirstObject() {
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const size_t count = headers == nullptr ? 0 : getauxval(AT_PHNUM);
  for (size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_PHDR) continue;
    const ElfW(Addr) base = reinterpret_cast<ElfW(Addr)>(headers) - headers[i].p_vaddr;
    const ElfW(Dyn)* entry = DynamicOf(base, headers, count);
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_DEBUG) continue;
      const auto* loader = reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
      return loader == nullptr ? nullptr : loader->r_map;
    }
  }
  return nullptr;
}

// Without dl_iterate_phdr(): while ThreadSanitizer begins it replaces that, and does not have it yet. What is listed
// before libc was there from the beginning, and stays: no lock is needed.
void* FindInLibc(const char* name) {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    if (!IsSameName(FileOf(object->l_name), "libc.so.6")) continue;
    return FindIn(object->l_addr, object->l_ld, name);
  }
  return nullptr;
}

struct Search {
  const char* name;
  void* found;
};

int LookInto(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const char* file = FileOf(object->dlpi_name);
  if (!IsSameName(file, "libc.so.6") && !IsSameName(file, "libdl.so.2")) return 0;
  const ElfW(Dyn)* dynamic = DynamicOf(object->dlpi_addr, object->dlpi_phdr, object->dlpi_phnum);
  if (dynamic == nullptr) return 0;
  search->found = FindIn(object->dlpi_addr, dynamic, search->name);
  return search->found == nullptr ? 0 : 1;
}

// Tried again until it is there: libdl may be loaded later. Each thread finds the same.
template <typename Function>
Function Remember(std::atomic<Function>* known, const char* name) {
  Function function = known->load(std::memory_order_acquire);
  if (function != nullptr) return function;
  Search search = {name, FindInLibc(name)};
  if (search.found == nullptr) dl_iterate_phdr(LookInto, &search);
  function = reinterpret_cast<Function>(search.found);
  known->store(function, std::memory_order_release);
  return function;
}

std::atomic<DlsymFunction> real_dlsym = nullptr;
std::atomic<DlvsymFunction> real_dlvsym = nullptr;
std::atomic<DlopenFunction> real_dlopen = nullptr;
std::atomic<DlcloseFunction> real_dlclose = nullptr;

}  // namespace

DlsymFunction RealDlsym() { return Remember(&real_dlsym, "dlsym"); }
DlvsymFunction RealDlvsym() { return Remember(&real_dlvsym, "dlvsym"); }

void* FindNext(const char* symbol) {
  const DlsymFunction look_up = RealDlsym();
  return look_up == nullptr ? nullptr : look_up(RTLD_NEXT, symbol);
}

void* FindLoaded(const char* library, const char* symbol) {
  const DlopenFunction open = Remember(&real_dlopen, "dlopen");
  const DlcloseFunction close = Remember(&real_dlclose, "dlclose");
  const DlsymFunction look_up = RealDlsym();
  if (open == nullptr || close == nullptr || look_up == nullptr) return nullptr;
  void* handle = open(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = look_up(handle, symbol);
  close(handle);
  return found;
}

// NOLINTEND(performance-no-int-to-ptr)

}  // namespace fairlead::ccl
