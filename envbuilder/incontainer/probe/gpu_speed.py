"""Times on one device; figures have their unit in their name."""

from envbuilder.incontainer.probe.framework import is_first, session_config
from envbuilder.incontainer.probe.placing import evidence, evidence_of, is_gpu, nodes_of
from envbuilder.incontainer.probe.values import CLOCK, look

LAUNCHES, SAMPLES, CHAIN = 400, 10, 10
SIZE, SMALL_SIZE = 4096, 128


def timed(function, count):
    """Return the seconds of each of several calls, one after the other."""
    seconds = []
    for _ in range(count):
        started = CLOCK()
        function()
        seconds.append(CLOCK() - started)
    return seconds


def first_kernels(tf, device):
    """Return the seconds of the first and the second small kernel; the first includes start and compilation."""
    with Adder(tf, device) as adder:
        first, second = timed(adder, 2)
        return dict(adder.seen(), first_seconds=adder.starting + first, second_seconds=second)


def latency_on(tf, device):
    """Return the microseconds of one tiny operation with the copy of its result, synchronised one by one."""
    with Adder(tf, device) as adder:
        timed(adder, 20)
        times = sorted(timed(adder, LAUNCHES))
        seen = adder.seen()
    if not seen["on_device"]:
        return dict(seen, samples=LAUNCHES, median_us=None, p99_us=None)
    return dict(seen, samples=LAUNCHES, median_us=at(times, 0.5) * 1e6, p99_us=at(times, 0.99) * 1e6)


def at(ordered, share):
    """Return the value below which a share of the ordered values lies."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Adder(object):
    """An addition of four numbers on a device; a call runs it and waits for its result."""

    def __init__(self, tf, device):
        self.tf, self.device, self.place, self.nodes, self.session = tf, device, "", [], None
        started = CLOCK()
        (self._graph if is_first(tf) else self._eager)()
        self.starting = CLOCK() - started

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.session is not None:
            self.session.close()

    def _graph(self):
        tf = self.tf
        graph = tf.Graph()
        with graph.as_default(), tf.device(self.device):
            self.place_in = tf.placeholder(tf.float32, [4])
            self.result = tf.add(self.place_in, self.place_in)
        self.session = tf.Session(graph=graph, config=session_config(tf))

    def _eager(self):
        with self.tf.device(self.device):
            self.operand = self.tf.constant([1.0, 2.0, 3.0, 4.0])

    def __call__(self):
        if self.session is not None:
            return self.session.run(self.result, {self.place_in: [1.0, 2.0, 3.0, 4.0]})
        with self.tf.device(self.device):
            result = self.tf.add(self.operand, self.operand)
        self.place = result.device
        return result.numpy()

    def seen(self):
        """Return its device."""
        if self.session is None:
            return evidence_of(self.device, self.place)
        options, told = self.tf.RunOptions(output_partition_graphs=True), self.tf.RunMetadata()
        self.session.run(self.result, {self.place_in: [0.0] * 4}, options=options, run_metadata=told)
        return evidence(self.device, nodes_of(told.partition_graphs), "^Add")


def throughput_on(tf, device):
    """Return TFLOP/s of square matrix products, in float32 (TF32 if enabled) and in float16."""
    size = SIZE if is_gpu(device) else SMALL_SIZE
    return dict((kind, look(products_on, tf, device, kind, size)) for kind in ("float32", "float16"))


def products_on(tf, device, kind, size):
    """Return rates of chains of products, each measured as a whole: best and median of all chains."""
    chain, seen = (chain_first if is_first(tf) else chain_second)(tf, device, kind, size)
    timed(chain, 2)
    times = sorted(timed(chain, SAMPLES))
    seen = dict(seen(), size=size, samples=SAMPLES)
    if not seen["on_device"]:
        return dict(seen, best_tflops=None, median_tflops=None)
    work = CHAIN * 2.0 * size**3 / 1e12
    return dict(seen, best_tflops=work / times[0], median_tflops=work / at(times, 0.5))


def signs(kind, size):
    """Return a random matrix of plus and minus one over the root of its size: a chain of products keeps its scale."""
    import numpy

    chosen = numpy.random.RandomState(7).randint(0, 2, (size, size)) * 2 - 1
    return (chosen / float(size) ** 0.5).astype(kind)


def chain_second(tf, device, kind, size):
    """Run TensorFlow 2.x: products one by one; reading one number waits for all."""
    with tf.device(device):
        left = right = tf.constant(signs(kind, size))
    places = []

    def chain():
        with tf.device(device):
            result = left
            for _ in range(CHAIN):
                result = tf.matmul(result, right)
            places[:] = [result.device]
            return result[0, 0].numpy()

    return chain, lambda: evidence_of(device, places[0])


def chain_first(tf, device, kind, size):
    """Run TensorFlow 1.x: the chain as a graph, the matrix a variable, so that nothing is copied or folded."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        start = tf.placeholder(kind, [size, size])
        matrix = tf.Variable(start, trainable=False)
        result = matrix
        for _ in range(CHAIN):
            result = tf.matmul(result, matrix)
        # A float16 scalar, and none of the large matrix, is copied to the host.
        one = result[0, 0]
    session = tf.Session(graph=graph, config=session_config(tf))
    session.run(matrix.initializer, {start: signs(kind, size)})

    def seen():
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        session.run(one, options=options, run_metadata=told)
        session.close()
        return evidence(device, nodes_of(told.partition_graphs), "MatMul")

    return lambda: session.run(one), seen
