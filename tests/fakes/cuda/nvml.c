/* The management library of FAKE_GPUS GPUs (default 1). FAKE_NVML: `mismatch` (nvmlInit fails), `lost` (GPU 0 does not answer),
   `mig` (GPU 0 has two MIG devices), `busy` (most memory is held by process 4242), `worn` (GPU 0 has errors of memory). Compiled with -DOLD it is that of driver 418. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int is(const char *what) { const char *text = getenv("FAKE_NVML"); return text && strcmp(text, what) == 0; }
static int copy(char *to, unsigned size, const char *text) { strncpy(to, text, size); return 0; }
static const unsigned long long total = 1ull << 33;
static unsigned long long used(void) { return is("busy") ? 7ull << 30 : 1ull << 28; }
const char *nvmlErrorString(int code) {
  return code == 18 ? "Driver/library version mismatch" : code == 15 ? "GPU is lost" : code == 3 ? "Not Supported" : "Success";
}
int nvmlInit_v2(void) { return is("mismatch") ? 18 : 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *to, unsigned size) { return copy(to, size, "550.54.15"); }
int nvmlSystemGetNVMLVersion(char *to, unsigned size) { return copy(to, size, "12.550.54.15"); }
int nvmlDeviceGetCount_v2(unsigned *count) { const char *text = getenv("FAKE_GPUS"); *count = text ? atoi(text) : 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(size_t)(index + 1); return is("lost") && !index ? 15 : 0; }
int nvmlDeviceGetName(void *device, char *to, unsigned size) { return copy(to, size, "Fake GPU"); }
int nvmlDeviceGetUUID(void *device, char *to, unsigned size) { snprintf(to, size, "GPU-0000000%d", (int)(size_t)device - 1); return 0; }
int nvmlDeviceGetEccMode(void *device, unsigned *now, unsigned *later) { *now = 1; *later = 0; return 0; }
int nvmlDeviceGetPersistenceMode(void *device, unsigned *mode) { *mode = 1; return 0; }
int nvmlDeviceGetComputeMode(void *device, unsigned *mode) { *mode = 3; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info) {
  info[0] = total; info[1] = total - used(); info[2] = used();
  return 0;
}
struct old { unsigned pid; unsigned long long memory; };
struct new { unsigned pid; unsigned long long memory; unsigned gpu, compute; };
#define LIST(form) \
  if (*count < 2) { *count = 2; return 7; } \
  form *entry = list; \
  memset(list, 0, 2 * sizeof(form)); \
  entry[0].pid = 4242; entry[0].memory = used(); entry[1].pid = 77; entry[1].memory = ~0ull; *count = 2; return 0;
#ifdef OLD
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *list) { LIST(struct old) }
int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count, void *list) { *count = 0; return 0; }
#else
int nvmlDeviceGetMemoryInfo_v2(void *device, struct { unsigned version; unsigned long long total, reserved, free, used; } *info) {
  if (info->version != (40 | 2 << 24)) return 25;
  info->total = total; info->reserved = 1 << 20; info->used = used(); info->free = total - used() - (1 << 20);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, void *list) { LIST(struct new) }
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, void *list) { *count = 0; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *later) { *now = *later = is("mig") && device == (void *)1; return is("mig") ? 0 : 3; }
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **part) { return index < 2 ? 0 : 6; }
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int since, unsigned long long *count) {
  *count = is("worn") && device == (void *)1 && kind == 1 && since == 0 ? 3 : 0; return 0;
}
int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  *corrected = 9; *uncorrected = 9; *pending = is("worn") && device == (void *)1; *failed = 0; return 0;
}
int nvmlDeviceGetPciInfo_v3(void *device, char *info) { strcpy(info + 36, "00000000:3B:00.0"); return 0; }
#endif
