/* A driver library without a driver, for a machine without a GPU: it says that there is one GPU, and fails where it is told to.
   What TensorFlow and the CUDA runtime then print is their own. Macros: NAME, MAJOR, MINOR, MEMORY (bytes) of the GPU;
   VERSION, the CUDA that the driver supports (11000); INIT, what cuInit answers; RETAIN, what making a context answers. */
#include <string.h>
#ifndef INIT
#define INIT 0
#endif
#ifndef RETAIN
#define RETAIN 0
#endif
typedef unsigned long size;
static void *context = (void *)0x1000, *current;
int cuInit(unsigned flags) { return INIT; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
static const char *name(int code) {
  switch (code) {
    case 0: return "CUDA_SUCCESS";
    case 2: return "CUDA_ERROR_OUT_OF_MEMORY";
    case 100: return "CUDA_ERROR_NO_DEVICE";
    case 803: return "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    case 999: return "CUDA_ERROR_UNKNOWN";
  }
  return 0;
}
static const char *text(int code) {
  switch (code) {
    case 0: return "no error";
    case 2: return "out of memory";
    case 100: return "no CUDA-capable device is detected";
    case 803: return "system has unsupported display driver / cuda driver combination";
    case 999: return "unknown error";
  }
  return 0;
}
int cuGetErrorName(int code, const char **out) { return (*out = name(code)) ? 0 : 1; }
int cuGetErrorString(int code, const char **out) { return (*out = text(code)) ? 0 : 1; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? 101 : 0; }
int cuDeviceGetName(char *out, int room, int device) { strncpy(out, NAME, room); return 0; }
int cuDeviceTotalMem_v2(size *bytes, int device) { *bytes = MEMORY; return 0; }
int cuDeviceComputeCapability(int *major, int *minor, int device) { *major = MAJOR; *minor = MINOR; return 0; }
int cuDeviceGetPCIBusId(char *out, int room, int device) { strncpy(out, "0000:01:00.0", room); return 0; }
int cuDeviceCanAccessPeer(int *can, int device, int other) { *can = 0; return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  switch (which) {
    case 75: *value = MAJOR; break;
    case 76: *value = MINOR; break;
    case 16: *value = 24; break;       /* multiprocessors */
    case 1: *value = 1024; break;      /* threads in a block */
    case 8: *value = 49152; break;     /* shared memory of a block */
    case 10: *value = 32; break;       /* warp */
    case 13: *value = 875500; break;   /* clock, kHz */
    case 36: *value = 2505000; break;  /* memory clock, kHz */
    case 37: *value = 384; break;      /* bus, bits */
    case 39: *value = 2048; break;     /* threads of a multiprocessor */
    default: *value = 65535;
  }
  return 0;
}
int cuDeviceGetUuid(void *out, int device) { memset(out, 7, 16); return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = 0; return 0; }
int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) { return 0; }
int cuDevicePrimaryCtxRetain(void **out, int device) { *out = context; return RETAIN; }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
int cuCtxGetCurrent(void **out) { *out = current; return 0; }
int cuCtxSetCurrent(void *which) { current = which; return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemGetInfo_v2(size *free, size *total) { *free = MEMORY - (512ul << 20); *total = MEMORY; return 0; }
