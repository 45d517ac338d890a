/* A driver that has FAKE_GPUS GPUs (default 1); FAKE_CUDA_VERSION is the CUDA that it supports (default 12040).
   Compiled with -DSTUB it is as small as the linker's stub. */
#include <stdlib.h>
#include <string.h>
#ifndef STUB
const char padding[1 << 21] = {1};
#endif
static int number(const char *name, int otherwise) { const char *text = getenv(name); return text ? atoi(text) : otherwise; }
int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int *version) { *version = number("FAKE_CUDA_VERSION", 12040); return 0; }
int cuGetErrorName(int code, const char **name) { *name = code ? "CUDA_ERROR_UNKNOWN" : "CUDA_SUCCESS"; return 0; }
int cuDeviceGetCount(int *count) { *count = number("FAKE_GPUS", 1); return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "Fake GPU", size); return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 9 : 0; return 0; }
int cuDeviceTotalMem_v2(unsigned long *size, int device) { *size = 1ul << 33; return 0; }
