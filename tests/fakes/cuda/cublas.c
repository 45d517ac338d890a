/* cuBLAS on the processor, by columns. FAKE_CUDA: `wrong-matmul` (one number), `turned-matmul` (two numbers change places),
   `nothing-matmul` (writes nothing), `crash-matmul`,
   `status-matmul` (13), `poison-matmul` (the process gets an illegal address from here on). */
#include <stdlib.h>
#include <string.h>
void fakeIllegalAddress(void);
static int is(const char *what) { const char *text = getenv("FAKE_CUDA"); return text && strcmp(text, what) == 0; }
int cublasCreate_v2(void **handle) { *handle = malloc(8); return 0; }
int cublasDestroy_v2(void *handle) { free(handle); return 0; }
int cublasGetProperty(int which, int *value) { int parts[] = {12, 4, 5}; *value = parts[which]; return 0; }
static void columns(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc) {
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < m; i++) c[i + (size_t)j * ldc] = 0;
    for (int p = 0; p < k; p++) {
      float factor = b[p + (size_t)j * ldb];
      for (int i = 0; i < m; i++) c[i + (size_t)j * ldc] += factor * a[i + (size_t)p * lda];
    }
  }
}
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc) {
  if (ta || tb || *alpha != 1 || *beta != 0 || lda < m || ldb < k || ldc < m) return 7;
  if (is("crash-matmul")) abort();
  if (is("status-matmul")) return 13;
  if (is("poison-matmul")) { fakeIllegalAddress(); return 13; }
  if (is("nothing-matmul")) return 0;
  if (m >= 1024) {
    /* Every number of this product is the same; the whole would take a processor too long. */
    columns(1, 1, k, a, lda, b, ldb, c, ldc);
    for (size_t i = 0; i < (size_t)m * n; i++) c[i] = c[0];
  } else columns(m, n, k, a, lda, b, ldb, c, ldc);
  if (is("wrong-matmul")) c[ldc + 1] += 1;
  if (is("turned-matmul")) { float one = c[1]; c[1] = c[ldc]; c[ldc] = one; }
  return 0;
}
