/* cuDNN on the processor, for the one operation that is asked. FAKE_CUDA: `wrong-convolution` (turns the windows),
   `hang-convolution`, `status-convolution` (8). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct shape { int n, c, h, w; };
static int is(const char *what) { const char *text = getenv("FAKE_CUDA"); return text && strcmp(text, what) == 0; }
static int make(void **what) { *what = calloc(1, 64); return 0; }
static int end(void *what) { free(what); return 0; }
unsigned long cudnnGetVersion(void) { return 90300; }
unsigned long cudnnGetCudartVersion(void) { return 12040; }
const char *cudnnGetErrorString(int code) { return code == 8 ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_BAD_PARAM"; }
int cudnnCreate(void **what) { return make(what); }
int cudnnDestroy(void *what) { return end(what); }
int cudnnCreateTensorDescriptor(void **what) { return make(what); }
int cudnnDestroyTensorDescriptor(void *what) { return end(what); }
int cudnnCreateFilterDescriptor(void **what) { return make(what); }
int cudnnDestroyFilterDescriptor(void *what) { return end(what); }
int cudnnCreateConvolutionDescriptor(void **what) { return make(what); }
int cudnnDestroyConvolutionDescriptor(void *what) { return end(what); }
static int set(struct shape *what, int n, int c, int h, int w) { *what = (struct shape){n, c, h, w}; return 0; }
int cudnnSetTensor4dDescriptor(struct shape *d, int format, int type, int n, int c, int h, int w) {
  return format || type ? 3 : set(d, n, c, h, w);
}
int cudnnSetFilter4dDescriptor(struct shape *d, int type, int format, int n, int c, int h, int w) {
  return format || type ? 3 : set(d, n, c, h, w);
}
int cudnnSetConvolution2dDescriptor(int *d, int ph, int pw, int u, int v, int dh, int dw, int mode, int type) {
  *d = mode;
  return ph || pw || u != 1 || v != 1 || dh != 1 || dw != 1 || type ? 3 : 0;
}
int cudnnGetConvolutionForwardWorkspaceSize(void *h, struct shape *x, struct shape *w, void *c, struct shape *y, int algo, size_t *size) {
  *size = 512;
  return algo ? 9 : 0;
}
int cudnnConvolutionForward(void *h, const float *alpha, struct shape *xs, const float *x, struct shape *ws, const float *w,
                            int *mode, int algo, char *space, size_t size, const float *beta, struct shape *ys, float *y) {
  if (is("hang-convolution")) sleep(100);
  if (is("status-convolution")) return 8;
  if (*mode != 1 || size != 512 || ys->h != xs->h - ws->h + 1 || ys->w != xs->w - ws->w + 1 || ws->c != xs->c) return 3;
  memset(space, 0, size);
  int turned = is("wrong-convolution");
  for (int n = 0; n < ws->n; n++) for (int i = 0; i < ys->h; i++) for (int j = 0; j < ys->w; j++) {
    float sum = 0;
    for (int c = 0; c < ws->c; c++) for (int a = 0; a < ws->h; a++) for (int b = 0; b < ws->w; b++) {
      int at = turned ? (ws->h - 1 - a) * ws->w + ws->w - 1 - b : a * ws->w + b;
      sum += x[(c * xs->h + i + a) * xs->w + j + b] * w[(n * ws->c + c) * ws->h * ws->w + at];
    }
    y[(n * ys->h + i) * ys->w + j] = sum;
  }
  return 0;
}
