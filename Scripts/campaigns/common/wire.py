#!/usr/bin/env python3
"""A proxy before a real HTTP server that does to chosen requests what networks and servers do."""
import re, socket, struct, threading


class Request:
    """One request as it came: its number in the run, method, path, and all its bytes."""

    def __init__(self, number, head, body):
        self.number, self.head, self.body = number, head, body
        self.method, self.path = (head.split(b" ", 2) + [b"", b""])[:2]
        self.method, self.path = self.method.decode("latin-1"), self.path.decode("latin-1")

    @property
    def raw(self):
        return self.head + self.body

    def __str__(self):
        return f"request {self.number}, {self.method} of {len(self.body)} bytes"


class Fault:
    """What happens to requests that `matches`; every method returns the bytes for the client, or None to cut it off.

    `met` counts the requests that it happened to. Only the first `times` of those that match are met.
    """

    times = 1

    def __init__(self, matches):
        self.matches, self.met, self.lock = matches, 0, threading.Lock()

    def takes(self, request):
        with self.lock:
            if self.met >= self.times or not self.matches(request):
                return False
            self.met += 1
            return True

    def answer(self, request, proxy):
        raise NotImplementedError


class Cut(Fault):
    """A connection that is reset after so many bytes of what is longer than that, when `skipped` as long have passed.

    Which of them it is cannot be told by its number in the run: requests are made side by side, and come in another order
    each time.
    """

    def __init__(self, matches, offset, skipped=0):
        super().__init__(matches)
        self.offset, self.skipped = offset, skipped

    def takes(self, request):
        return self.met < self.times and self.matches(request)

    def cuts(self, length):
        """Whether it is this one that is cut."""
        with self.lock:
            if self.met >= self.times or length <= self.offset:
                return False
            if self.skipped:
                self.skipped -= 1
                return False
            self.met += 1
            return True


class CutRequest(Cut):
    """The connection is reset when so many bytes of the request have reached the server."""

    def answer(self, request, proxy):
        if not self.cuts(len(request.raw)):
            return proxy.forward(request)
        with socket.create_connection(proxy.upstream) as server:
            server.sendall(request.raw[: self.offset])
            reset(server)
        return None


class CutResponse(Cut):
    """The server has done it; the client sees so many bytes of the answer, then a reset. 0: a lost acknowledgement."""

    def answer(self, request, proxy):
        answer = proxy.forward(request)
        return (answer[: self.offset], "cut") if self.cuts(len(answer)) else answer


class Twice(Fault):
    """The request reaches the server twice, as a network that retransmits or a proxy that retries makes it."""

    times = 1 << 30

    def answer(self, request, proxy):
        proxy.forward(request)
        return proxy.forward(request)


class Late(Fault):
    """The request is applied now, and once more when `deliver` is called: after the command has ended."""

    times = 1 << 30

    def __init__(self, matches):
        super().__init__(matches)
        self.kept = []

    def answer(self, request, proxy):
        with self.lock:
            self.kept.append(request)
        return proxy.forward(request)

    def deliver(self, proxy):
        for request in self.kept:
            proxy.forward(request)
        return len(self.kept)


class Status(Fault):
    """An answer of this status in place of the server's, to so many requests in a row."""

    def __init__(self, matches, status, times=1, headers="", body=b""):
        super().__init__(matches)
        self.status, self.times, self.headers, self.body = status, times, headers, body

    def answer(self, request, proxy):
        head = f"HTTP/1.1 {self.status} Injected\r\nContent-Length: {len(self.body)}\r\n{self.headers}\r\n"
        return head.encode() + (b"" if request.method == "HEAD" else self.body)


class OtherBody(Fault):
    """The server's answer with another body, its length made to fit unless `honest` is false."""

    def __init__(self, matches, change, fits=True):
        super().__init__(matches)
        self.change, self.fits = change, fits

    def answer(self, request, proxy):
        head, _, body = proxy.forward(request).partition(b"\r\n\r\n")
        body = self.change(body)
        if self.fits:
            head = re.sub(rb"(?i)content-length: *\d+", b"Content-Length: %d" % len(body), head)
        return (head + b"\r\n\r\n" + body, None if self.fits else "cut")


class WithoutRange(Fault):
    """A server that ignores Range, or answers another one than was asked for."""

    times = 1 << 30

    def __init__(self, matches, shift=None):
        super().__init__(matches)
        self.shift = shift

    def answer(self, request, proxy):
        if self.shift is None:
            head = re.sub(rb"(?i)\r\nrange: [^\r\n]*", b"", request.head)
        else:
            head = re.sub(rb"(?i)(\r\nrange: *bytes=)(\d+)-(\d+)",
                          lambda m: m[1] + b"%d-%d" % (int(m[2]) + self.shift, int(m[3]) + self.shift), request.head)
        return proxy.forward(Request(request.number, head, request.body))


class Proxy(threading.Thread):
    """Listens on 127.0.0.1; `fault` may be set at any time, `log` holds what came since it was last cleared."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.upstream, self.fault, self.log, self.lock = ("127.0.0.1", port), None, [], threading.Lock()
        self.answers = {}  # by the number of the request: bytes of the server's own answer
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.start()

    def begin(self, fault=None):
        """A new run: its requests are counted from 0."""
        with self.lock:
            self.fault, self.log, self.answers = fault, [], {}

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = client.makefile("rb")
            try:
                while request := self.read(reader, client):
                    if self.fault and self.fault.takes(request):
                        answer = self.fault.answer(request, self)
                    else:
                        answer = self.forward(request)
                        self.answers[request.number] = len(answer)
                    answer, end = answer if isinstance(answer, tuple) else (answer, None)
                    if answer is not None:
                        client.sendall(answer)
                    if answer is None or end == "cut":
                        reset(client)
                        return
            except OSError:
                pass

    def read(self, reader, client):
        head = read_head(reader)
        if not head:
            return None
        if re.search(rb"(?i)\r\nexpect: *100-continue", head):
            client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = re.sub(rb"(?i)\r\nexpect: *100-continue", b"", head)
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        body = reader.read(int(length[1])) if length else b""
        if length and len(body) < int(length[1]):
            return None
        with self.lock:
            request = Request(len(self.log), head, body)
            self.log.append((request.method, request.path, len(request.raw)))
        return request

    def forward(self, request):
        """The server's whole answer, over a connection of its own."""
        with socket.create_connection(self.upstream, timeout=60) as server:
            server.sendall(request.raw)
            reader = server.makefile("rb")
            while True:
                head = read_head(reader)
                if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                    break
            if request.method == "HEAD" or re.match(rb"HTTP/1.. (204|304)", head):
                return head
            if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
                body = read_chunks(reader)
                head = re.sub(rb"(?i)\r\ntransfer-encoding: *chunked", b"\r\nContent-Length: %d" % len(body), head)
                return head + body
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            return head + (reader.read(int(length[1])) if length else reader.read())


def read_head(reader):
    lines = []
    while line := reader.readline(1 << 16):
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)
    return b""


def read_chunks(reader):
    body = b""
    while size := int(reader.readline().split(b";")[0], 16):
        body += reader.read(size)
        reader.readline()
    while reader.readline() not in (b"\r\n", b""):
        pass
    return body


def reset(end):
    """Ends a connection by RST, not by FIN."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
