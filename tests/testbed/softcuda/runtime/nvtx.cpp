// NVTX ranges name the ranges of the counters. NVTX is header-only: each library that uses it asks the one that
// NVTX_INJECTION64_PATH names for functions, which the launcher sets to this one. The types below are those of
// nvtxDetail/nvtxTypes.h and nvToolsExt.h of NVTX 3, whose layout its version 2 of the injection interface fixes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "ranges.h"

namespace softcuda {
namespace {

using Function = void (*)();
using FunctionTable = Function**;
using GetExportTable = const void* (*)(uint32_t);

struct ExportTableCallbacks {
  size_t struct_size;
  int (*get_module_function_table)(int module, FunctionTable* table, unsigned* size);
};

struct EventAttributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void* message;
};

constexpr uint32_t kCallbacks = 1;                            // NVTX_ETID_CALLBACKS
constexpr int kCore = 1, kCore2 = 5;                          // NVTX_CB_MODULE_*
constexpr int32_t kMessageAscii = 1, kMessageRegistered = 3;  // NVTX_MESSAGE_TYPE_*

const char* name_of(const EventAttributes* attributes) {
  const int32_t type = attributes->message_type;
  const bool readable = type == kMessageAscii || type == kMessageRegistered;
  return readable && attributes->message ? static_cast<const char*>(attributes->message) : "";
}

// Only the default domain, whose handle is null, has ranges here: libraries open domains for themselves.
const void* create_domain(const char*) {
  static const char other = 0;
  return &other;
}

// Registered strings live as long as the process.
const void* register_string(const void*, const char* text) { return strdup(text); }

int push(const char* name) { return push_range(name), 0; }
int push_attributes(const EventAttributes* attributes) { return push(name_of(attributes)); }
int pop() { return pop_range(), 0; }
uint64_t start(const char* name) { return start_range(name); }
uint64_t start_attributes(const EventAttributes* attributes) { return start(name_of(attributes)); }
void end(uint64_t id) { end_range(id); }

int push_in_domain(const void* domain, const EventAttributes* attributes) {
  return domain ? 0 : push_attributes(attributes);
}
int pop_in_domain(const void* domain) { return domain ? 0 : pop(); }
uint64_t start_in_domain(const void* domain, const EventAttributes* attributes) {
  return domain ? 0 : start_attributes(attributes);
}
void end_in_domain(const void* domain, uint64_t id) {
  if (!domain) end(id);
}

struct Entry {
  int module;
  unsigned index;  // NVTX_CBID_CORE_* or NVTX_CBID_CORE2_*
  Function function;
};

template <class F>
Function function(F* f) {
  return reinterpret_cast<Function>(f);
}

}  // namespace
}  // namespace softcuda

// Called by every library that uses NVTX, with its own table. 1 when it may use the functions.
extern "C" int InitializeInjectionNvtx2(softcuda::GetExportTable get_export_table) {
  using namespace softcuda;
  const auto* callbacks = static_cast<const ExportTableCallbacks*>(get_export_table(kCallbacks));
  if (!callbacks) return 0;
  const Entry entries[] = {
      {kCore, 4, function(start_attributes)},
      {kCore, 5, function(start)},
      {kCore, 7, function(end)},
      {kCore, 8, function(push_attributes)},
      {kCore, 9, function(push)},
      {kCore, 11, function(pop)},
      {kCore2, 2, function(start_in_domain)},
      {kCore2, 3, function(end_in_domain)},
      {kCore2, 4, function(push_in_domain)},
      {kCore2, 5, function(pop_in_domain)},
      {kCore2, 10, function(register_string)},
      {kCore2, 12, function(create_domain)},
  };
  for (const Entry& entry : entries) {
    FunctionTable table = nullptr;
    unsigned size = 0;
    if (!callbacks->get_module_function_table(entry.module, &table, &size)) continue;
    if (entry.index < size && table[entry.index]) *table[entry.index] = entry.function;
  }
  return 1;
}
