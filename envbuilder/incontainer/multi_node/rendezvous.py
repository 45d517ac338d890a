"""The workers find each other on the ports that TensorFlow will use, and notice when one of them ends."""

import errno
import json
import select
import socket
import threading
import time

from envbuilder.incontainer.multi_node.cluster import host_and_port
from envbuilder.incontainer.probe.values import CLOCK, text

PROTOCOL = 1
LONGEST_LINE = 1 << 16
PATIENCE = 10.0  # seconds for one attempt; others follow until the end of the wait
PAUSE = 0.5  # seconds between attempts
SILENT = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


class PortTaken(Exception):
    """Another program listens on the own port."""


def error_of(step, error):
    """Return the description of a failed step towards another worker."""
    number = getattr(error, "errno", None)
    if isinstance(error, socket.timeout):
        kind = "ETIMEDOUT"
    elif isinstance(error, socket.gaierror):
        kind = ([name for name in dir(socket) if name.startswith("EAI_") and getattr(socket, name) == number] or [""])[0]
    else:
        kind = errno.errorcode.get(number, type(error).__name__)
    return {"step": step, "type": kind, "message": text(error)}


def send(connection, document):
    """Send one line of JSON."""
    connection.sendall((json.dumps(document, sort_keys=True) + "\n").encode("ascii"))


def receive(connection):
    """Return one line of JSON as a dictionary; None at the end; another program's answer has no `envbuilder`."""
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
        piece = connection.recv(1)
        if not piece:
            break
        line += piece
    if not line:
        return None
    try:
        document = json.loads(line.decode("utf-8"))
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {"said": text(line[:60])}


class Peer(object):
    """Another worker, as this one sees it."""

    def __init__(self, index, address):
        self.index, self.address = index, address
        self.addresses, self.tries, self.step, self.error, self.hello = [], 0, "name", None, None
        self.connected = self.heard = self.finished = self.left = self.bye = None
        self.connection = None

    def missing(self):
        """Return name and state of a worker that is not there yet; an empty text for one that is."""
        if self.connected is not None and self.heard is not None:
            return u""
        state = u"it has not connected yet" if self.connected is not None else u"no answer yet"
        if self.connected is None and self.error is not None:
            state = u"{0}: {1}".format(self.error["type"], self.error["message"])
        return u"{0} at {1}: {2}".format(self.index, self.address, state)

    def fact(self):
        """Return the facts: seconds of each event since the start, None for what did not happen."""
        if self.connected is None and self.error is None:
            self.error = {"step": self.step, "type": "ETIMEDOUT", "message": "no answer until the end of the wait"}
        names = ("index", "address", "addresses", "tries", "error", "hello", "connected", "heard", "left", "bye")
        return dict((name, getattr(self, name)) for name in names)

    def attempt(self, hello, patience):
        """Resolve, connect and exchange who is who; return the error, or None."""
        self.tries += 1
        self.step = "name"
        try:
            host, port = host_and_port(self.address)
            found = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
            self.addresses = sorted(set(text(each[4][0]) for each in found))
            self.step = "connect"
            self.connection = connected(found, patience)
            self.step = "hello"
            send(self.connection, hello)
            return self.refused(receive(self.connection))
        except (IOError, OSError) as error:
            return error_of(self.step, error)

    def refused(self, answer):
        """Return the error of an answer, or None for that of the expected worker."""
        if answer is None:
            return {"step": "hello", "type": "NoAnswer", "message": "the connection was closed without an answer"}
        if answer.get("envbuilder") != PROTOCOL:
            said = answer.get("said", "another protocol")
            return {"step": "hello", "type": "NotAWorker", "message": u"another program answered: {0}".format(said)}
        self.hello = dict((name, answer.get(name)) for name in ("index", "tensorflow", "python", "host", "workers"))
        if answer.get("index") == self.index:
            return None
        message = "worker {0} answered in place of worker {1}".format(answer.get("index"), self.index)
        return {"step": "hello", "type": "WrongWorker", "message": message}


def connected(found, patience):
    """Return a connection to the first address that accepts one; `patience` is in seconds for each."""
    last = None
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        connection.settimeout(patience)
        try:
            connection.connect(address)
        except (IOError, OSError) as error:
            last = error
            connection.close()
            continue
        notice_silence(connection)
        return connection
    raise last


def notice_silence(connection):
    """Let the kernel end a connection to a machine that is gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in SILENT:
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def listener(port):
    """Return a socket that listens on all addresses, as TensorFlow's server does; without sharing the port."""
    try:
        taken = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        place = ("::", port)
    except (IOError, OSError):
        taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        place = ("0.0.0.0", port)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(place)
        taken.listen(64)
    except (IOError, OSError):
        taken.close()
        raise
    return taken


class Rendezvous(object):
    """All other workers, and the port of this one."""

    def __init__(self, addresses, index, identity):
        self.started = CLOCK()
        self.hello = dict(identity, envbuilder=PROTOCOL, index=index, workers=addresses)
        self.index, self.port = index, host_and_port(addresses[index])[1]
        self.peers = [Peer(number, address) for number, address in enumerate(addresses) if number != index]
        self.door, self.closed, self.held = None, False, []

    def since(self):
        """Return the seconds since the start."""
        return round(CLOCK() - self.started, 3)

    def listen(self):
        """Listen on the own port; return it."""
        try:
            self.door = listener(self.port)
        except (IOError, OSError) as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise PortTaken("port {0} is in use by another program".format(self.port))
        in_background(self.accept)
        return {"port": self.port}

    def accept(self):
        """Answer those who connect, until the door is closed."""
        while not self.closed:
            try:
                if select.select([self.door], [], [], 0.2)[0]:
                    in_background(self.answer, self.door.accept()[0])
            except (IOError, OSError, ValueError):
                return

    def answer(self, connection):
        """Exchange who is who with one that connected; its connection stays open."""
        connection.settimeout(PATIENCE)
        try:
            hello = receive(connection) or {}
            if hello.get("envbuilder") != PROTOCOL:
                connection.close()
                return
            send(connection, self.hello)
        except (IOError, OSError):
            connection.close()
            return
        notice_silence(connection)
        self.held.append(connection)
        for peer in self.peers:
            if peer.index == hello.get("index"):
                peer.heard = self.since()

    def meet(self, wait, remind, report):
        """Connect to all, and wait until all have connected; return whether that happened in time.

        Every `remind` seconds, `report` gets a line for each worker that is still missing.
        """
        deadline, reminder = CLOCK() + wait, CLOCK() + remind
        for peer in self.peers:
            in_background(self.reach, peer, deadline, min(PATIENCE, wait / 3.0))
        while CLOCK() < deadline and not self.complete():
            time.sleep(0.05)
            if CLOCK() >= reminder:
                reminder = CLOCK() + remind
                for peer in self.peers:
                    if peer.missing():
                        report(u"worker {0} waits for worker {1}".format(self.index, peer.missing()))
        return self.complete()

    def complete(self):
        """Return whether this worker reached all others, and all others this one."""
        return all(peer.connected is not None and peer.heard is not None for peer in self.peers)

    def reach(self, peer, deadline, patience):
        """Try to reach one worker until the deadline; then follow its connection to the end."""
        while not self.closed and CLOCK() < deadline:
            peer.error = peer.attempt(self.hello, patience)
            if peer.error is None:
                peer.connected = self.since()
                self.follow(peer)
                return
            time.sleep(PAUSE)

    def follow(self, peer):
        """Wait for the words of a worker, and for the end of its connection."""
        peer.connection.settimeout(None)
        try:
            for word in iter(lambda: receive(peer.connection), None):
                if word.get("finished"):
                    peer.finished = self.since()
                peer.bye = word.get("bye", peer.bye)
        except (IOError, OSError):
            pass
        peer.left = self.since()

    def close(self):
        """Free the port for TensorFlow; connections stay open."""
        self.closed = True
        if self.door is not None:
            self.door.close()

    def send(self, word):
        """Send a message to all others."""
        for connection in self.held:
            try:
                send(connection, word)
            except (IOError, OSError):
                pass

    def all_finished(self):
        """Return whether all others have finished their work, or ended."""
        return all(peer.finished is not None or peer.left is not None for peer in self.peers)

    def lost(self):
        """Return those who ended, and not because all work was done."""
        return [peer for peer in self.peers if peer.left is not None and peer.bye != "done"]


def in_background(function, *arguments):
    """Run a function in a thread that does not outlive the process."""
    thread = threading.Thread(target=function, args=arguments)
    thread.daemon = True
    thread.start()
