"""Work on every GPU through CUDA's own libraries, without a framework: results and times."""

import ctypes

from envbuilder.incontainer.probe.children import Steps
from envbuilder.incontainer.probe.toolkit import (
    CudaFailed,
    GpuMemory,
    NoLibrary,
    Toolkit,
    floats,
    largest_difference,
    numbers_of,
)
from envbuilder.incontainer.probe.values import CLOCK, text, unseen

COMPUTE_LIMIT = 300
COMPUTE_BUDGETS = {"start": 60, "memory": 60, "matmul": 120, "speed": 60, "convolution": 120}
ROWS, INNER, COLUMNS = 48, 64, 80
SPEED_SIZES = (1024, 4096)
SPEED_TRIES = 5
# Channels, height and width of the picture; number, height and width of the windows.
PICTURE, WINDOWS = (2, 16, 20), (3, 3, 3)
OUTPUT = (WINDOWS[0], PICTURE[1] - WINDOWS[1] + 1, PICTURE[2] - WINDOWS[2] + 1)


def started(toolkit):
    """Return libraries, versions, and the number of GPUs that the runtime sees."""
    seen = {"libraries": toolkit.told(), "stub": toolkit.stub, "error": "", "count": None}
    for name, function in (("runtime", "cudaRuntimeGetVersion"), ("driver", "cudaDriverGetVersion")):
        try:
            seen[name] = toolkit.cudart.version(function)
        except (CudaFailed, NoLibrary, AttributeError):
            seen[name] = None
    if toolkit.stub:
        return dict(seen, error="libcuda.so.1 is the linker's stub, not a driver")
    count = ctypes.c_int(0)
    try:
        toolkit.cudart.call("cudaGetDeviceCount", ctypes.byref(count))
    except (CudaFailed, NoLibrary) as error:
        return dict(seen, error=text(error))
    return dict(seen, count=count.value)


def gpu_memory_round_trip(toolkit):
    """Return free and total bytes before any computation, a round trip of a few bytes, and the address on the bus."""
    sent, device = floats(range(4096)), ctypes.c_int(0)
    bus = ctypes.create_string_buffer(64)
    toolkit.cudart.call("cudaGetDevice", ctypes.byref(device))
    toolkit.cudart.call("cudaDeviceGetPCIBusId", bus, 64, device)
    with GpuMemory(toolkit.cudart) as memory:
        free, total = memory.free_and_total()
        equal = memory.get(memory.put(sent), len(sent)) == sent
    return {"free": free, "total": total, "equal": equal, "bus": bus.value}


class Handle(object):
    """A resource that one function of a library creates and another one destroys."""

    def __init__(self, library, make, end):
        self.library, self.make, self.end = library, make, end
        self.value = ctypes.c_void_p()

    def __enter__(self):
        self.library.call(self.make, ctypes.byref(self.value))
        return self.value

    def __exit__(self, *ended):
        self.library.function(self.end)(self.value)


def cublas_handle(toolkit):
    """Return a handle of cuBLAS."""
    return Handle(toolkit.cublas, "cublasCreate_v2", "cublasDestroy_v2")


def multiply(cublas, handle, left, right, result, shape):
    """Compute row-major `left` times `right`: for cuBLAS, which is column-major, that is `right` times `left`."""
    rows, inner, columns = shape
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    cublas.call(
        "cublasSgemm_v2", handle, 0, 0, columns, rows, inner, ctypes.byref(one), right, columns, left, inner,
        ctypes.byref(zero), result, columns,
    )  # fmt: skip


def matrix(rows, columns, factor, modulus):
    """Return small whole numbers by row: a product of these is exact in float32 and in TF32, in every order."""
    values = [place * factor % modulus - modulus // 2 for place in range(rows * columns)]
    return [values[row * columns : (row + 1) * columns] for row in range(rows)]


def flat(rows):
    """Return all numbers, row by row."""
    return [value for row in rows for value in row]


def matrix_product(toolkit):
    """Multiply two non-square matrices by cuBLAS: return the largest difference from the known product."""
    left, right = matrix(ROWS, INNER, 7, 11), matrix(INNER, COLUMNS, 5, 13)
    turned = list(zip(*right))
    expected = [sum(one * other for one, other in zip(row, column)) for row in left for column in turned]
    with cublas_handle(toolkit) as handle, GpuMemory(toolkit.cudart) as memory:
        operands = memory.put(floats(flat(left))), memory.put(floats(flat(right)))
        size = ROWS * COLUMNS * 4
        # Not zero: a product that was never written must not look like one.
        result = memory.put(b"\xff" * size)
        multiply(toolkit.cublas, handle, operands[0], operands[1], result, (ROWS, INNER, COLUMNS))
        toolkit.cudart.call("cudaDeviceSynchronize")
        seen = numbers_of(memory.get(result, size))
    return {"difference": largest_difference(expected, seen), "shape": [ROWS, INNER, COLUMNS]}


def speed(toolkit):
    """Return the best time of several square products in float32, and True if the result of the timed work is right."""
    with cublas_handle(toolkit) as handle:
        sizes = [timed_product(toolkit, handle, size) for size in SPEED_SIZES]
        with GpuMemory(toolkit.cudart) as memory:
            return {"products": sizes, "free": memory.free_and_total()[0]}


def timed_product(toolkit, handle, size):
    """Return milliseconds, TFLOP/s, and True if every number is right, for one size.

    All rows of the left are alike and so are all columns of the right, so that every number of the product is the same.
    """
    row = [value % 11 - 5 for value in range(size)]
    column = [value % 13 - 6 for value in range(size)]
    expected = floats([sum(one * other for one, other in zip(row, column))]) * (size * size)
    with GpuMemory(toolkit.cudart) as memory:
        left = memory.put(floats(row) * size)
        right = memory.put(b"".join(floats([value]) * size for value in column))
        result = memory.put(b"\xff" * len(expected))
        shape = (size, size, size)
        times = [milliseconds(toolkit, handle, left, right, result, shape) for _ in range(SPEED_TRIES + 1)]
        right_numbers = memory.get(result, len(expected)) == expected
    # The first is for loading the code.
    best = min(times[1:])
    rate = 2.0 * size**3 / best / 1e9 if best > 0 else None
    return {"size": size, "milliseconds": best, "teraflops": rate, "equal": right_numbers}


def milliseconds(toolkit, handle, left, right, result, shape):
    """Return the time of one product on the GPU, between two events."""
    runtime, took = toolkit.cudart, ctypes.c_float(0.0)
    with Handle(runtime, "cudaEventCreate", "cudaEventDestroy") as before:
        with Handle(runtime, "cudaEventCreate", "cudaEventDestroy") as after:
            runtime.call("cudaEventRecord", before, None)
            multiply(toolkit.cublas, handle, left, right, result, shape)
            runtime.call("cudaEventRecord", after, None)
            runtime.call("cudaEventSynchronize", after)
            runtime.call("cudaEventElapsedTime", ctypes.byref(took), before, after)
    return took.value


def convolved(picture, windows):
    """Compute the convolution in Python, as in networks: the windows are not flipped."""
    channels, _, width = PICTURE
    number, high, wide = WINDOWS
    places = [(c, y, x) for c in range(channels) for y in range(high) for x in range(wide)]
    result = []
    for n in range(number):
        for top in range(OUTPUT[1]):
            for left in range(OUTPUT[2]):
                result.append(
                    sum(
                        picture[(c * PICTURE[1] + top + y) * width + left + x]
                        * windows[((n * channels + c) * high + y) * wide + x]
                        for c, y, x in places
                    )
                )
    return result


def cudnn_convolution(toolkit):
    """Convolve a picture of two channels with three windows by cuDNN: return the largest error."""
    channels = PICTURE[0]
    picture = flat(matrix(channels * PICTURE[1], PICTURE[2], 7, 11))
    windows = flat(matrix(WINDOWS[0] * channels, WINDOWS[1] * WINDOWS[2], 5, 13))
    cudnn = toolkit.cudnn
    with Handle(cudnn, "cudnnCreate", "cudnnDestroy") as handle, GpuMemory(toolkit.cudart) as memory:
        data = memory.put(floats(picture)), memory.put(floats(windows))
        seen = numbers_of(convolve(cudnn, handle, memory, data[0], data[1]))
    shape = [list(PICTURE), list(WINDOWS)]
    return {"difference": largest_difference(convolved(picture, windows), seen), "shape": shape}


def convolve(cudnn, handle, memory, picture, windows):
    """Describe the operation to cuDNN and run it: return the bytes of its result."""
    tensor = ("cudnnCreateTensorDescriptor", "cudnnDestroyTensorDescriptor")
    of_windows = Handle(cudnn, "cudnnCreateFilterDescriptor", "cudnnDestroyFilterDescriptor")
    of_work = Handle(cudnn, "cudnnCreateConvolutionDescriptor", "cudnnDestroyConvolutionDescriptor")
    with Handle(cudnn, *tensor) as source, Handle(cudnn, *tensor) as target, of_windows as window, of_work as work:
        # 0, 0: NCHW and float32; for windows float32 and NCHW.
        cudnn.call("cudnnSetTensor4dDescriptor", source, 0, 0, 1, *PICTURE)
        cudnn.call("cudnnSetFilter4dDescriptor", window, 0, 0, WINDOWS[0], PICTURE[0], WINDOWS[1], WINDOWS[2])
        # No padding, stride 1, dilation 1, cross-correlation, float32; cuDNN 5 has no last argument and ignores it.
        cudnn.call("cudnnSetConvolution2dDescriptor", work, 0, 0, 1, 1, 1, 1, 1, 0)
        cudnn.call("cudnnSetTensor4dDescriptor", target, 0, 0, 1, *OUTPUT)
        # Algorithm 0 is IMPLICIT_GEMM, which every release has and which rounds like a plain sum.
        needed = ctypes.c_size_t(0)
        shapes = source, window, work, target
        cudnn.call(*(("cudnnGetConvolutionForwardWorkspaceSize", handle) + shapes + (0, ctypes.byref(needed))))
        workspace = memory.take(needed.value) if needed.value else None
        size = OUTPUT[0] * OUTPUT[1] * OUTPUT[2] * 4
        result = memory.put(b"\xff" * size)
        one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
        cudnn.call(
            "cudnnConvolutionForward", handle, ctypes.byref(one), source, picture, window, windows, work, 0, workspace,
            needed, ctypes.byref(zero), target, result,
        )  # fmt: skip
        memory.cudart.call("cudaDeviceSynchronize")
        return memory.get(result, size)


COMPUTE_STEPS = (
    ("memory", gpu_memory_round_trip),
    ("matmul", matrix_product),
    ("convolution", cudnn_convolution),
    ("speed", speed),
)


def part_compute(request, report, only):
    """Child: work on GPUs until the first failure: CUDA may refuse everything after that in the same process."""
    toolkit = Toolkit(request["sonames"] + request["optional_sonames"])
    if "start" in only:
        report("start", started, toolkit)
        return
    for name in only:
        index, _, operation = name.partition("-")
        if not report(name, on_one_gpu, toolkit, int(index), dict(COMPUTE_STEPS)[operation]):
            return


def on_one_gpu(toolkit, index, operation):
    """Run one operation on one GPU, with the free memory before and after it."""
    if toolkit.stub:
        raise NoLibrary("libcuda.so.1 is the linker's stub, not a driver")
    toolkit.cudart.call("cudaSetDevice", index)
    return operation(toolkit)


def compute(request, path):
    """Return the results of every GPU in the libraries of CUDA; empty without a GPU."""
    seen = compute_steps(request, path, ["start"])["start"]
    if not seen["ok"]:
        return seen
    count = seen["value"]["count"] or 0
    names = ["{0}-{1}".format(index, operation) for index in range(count) for operation, _ in COMPUTE_STEPS]
    facts = compute_steps(request, path, names)
    seen["value"]["gpus"] = [
        dict([("index", index)] + [(name, facts["{0}-{1}".format(index, name)]) for name, _ in COMPUTE_STEPS])
        for index in range(count)
    ]
    return seen


def compute_steps(request, path, names):
    """Return facts of these steps; a new process after every one that failed."""
    budgets = dict((name, budget_of(request, name.split("-")[-1])) for name in names)
    seen, left, deadline = {}, names, CLOCK() + COMPUTE_LIMIT
    while left:
        taken = Steps("compute", path, left, budgets, max(0.0, deadline - CLOCK())).run()
        seen.update(taken)
        if not taken:
            seen.update((name, unseen("NotReached", "the process ended before it")) for name in left)
        left = [name for name in left if name not in seen]
    return seen


def budget_of(request, operation):
    """Return seconds for one operation: those of the request (`compute-matmul`), or the default."""
    return request["budgets"].get("compute-" + operation, COMPUTE_BUDGETS[operation])
