/* A runtime whose GPU memory is that of the process. FAKE_CUDA names what goes wrong:
   `no-memory`: nothing can be taken. Every block that is taken or given back is a line in the file FAKE_NOTES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
#ifndef RUNTIME
#define RUNTIME 12040
#endif
static const size_t total = 1ul << 33;
static size_t used = 1ul << 28;
static int sticky;
struct block { size_t size; char data[]; };
static int is(const char *what) { const char *text = getenv("FAKE_CUDA"); return text && strcmp(text, what) == 0; }
static void say(const char *what, const char *path) {
  FILE *file = path ? fopen(path, "a") : 0;
  if (file) { fprintf(file, "%s\n", what); fclose(file); }
}
int cudaRuntimeGetVersion(int *version) { *version = RUNTIME; return 0; }
int cudaDriverGetVersion(int *version) { return cuDriverGetVersion(version); }
const char *cudaGetErrorName(int code) {
  return code == 35 ? "cudaErrorInsufficientDriver" : code == 2 ? "cudaErrorMemoryAllocation"
       : code == 700 ? "cudaErrorIllegalAddress" : "cudaErrorUnknown";
}
const char *cudaGetErrorString(int code) { return code == 2 ? "out of memory" : "something is wrong"; }
int cudaGetDeviceCount(int *count) {
  int driver = 0;
  cuDriverGetVersion(&driver);
  return driver / 1000 < RUNTIME / 1000 ? 35 : cuDeviceGetCount(count);
}
static int current;
int cudaSetDevice(int device) { current = device; return sticky; }
int cudaGetDevice(int *device) { *device = current; return sticky; }
int cudaDeviceGetPCIBusId(char *to, int size, int device) { snprintf(to, size, "0000:%02X:00.0", 0x3b + device); return sticky; }
void fakeIllegalAddress(void) { sticky = 700; }
int cudaMalloc(void **pointer, size_t size) {
  if (sticky || is("no-memory")) return sticky ? sticky : 2;
  struct block *block = malloc(sizeof(struct block) + size);
  block->size = size; used += size; *pointer = block->data;
  say("take", getenv("FAKE_NOTES"));
  return 0;
}
int cudaFree(void *pointer) {
  struct block *block = (struct block *)((char *)pointer - sizeof(struct block));
  used -= block->size; free(block);
  say("give", getenv("FAKE_NOTES"));
  return sticky;
}
int cudaMemcpy(void *to, const void *from, size_t size, int kind) { if (!sticky) memcpy(to, from, size); return sticky; }
int cudaMemGetInfo(size_t *free_, size_t *all) { *free_ = total - used; *all = total; return sticky; }
int cudaDeviceSynchronize(void) { return sticky; }
int cudaEventCreate(struct timespec **event) { *event = calloc(1, sizeof(struct timespec)); return sticky; }
int cudaEventDestroy(struct timespec *event) { free(event); return sticky; }
int cudaEventRecord(struct timespec *event, void *stream) { clock_gettime(CLOCK_MONOTONIC, event); return sticky; }
int cudaEventSynchronize(struct timespec *event) { return sticky; }
int cudaEventElapsedTime(float *milliseconds, struct timespec *from, struct timespec *to) {
  *milliseconds = (to->tv_sec - from->tv_sec) * 1e3f + (to->tv_nsec - from->tv_nsec) / 1e6f;
  return sticky;
}
