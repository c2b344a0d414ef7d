#!/usr/bin/python3
"""Counts what goes over the wire between a tool and the S3 server, outside of both.

    proxy.py SERVER_PORT COUNTERS      prints the port it listens on, 127.0.0.1 only; ends when its input does

Bytes go through pipes by splice(2): they are never copied into this process, so the proxy takes next to nothing from
the two it stands between. COUNTERS is a file of three u64 in the byte order of this machine, mapped by whoever reads
them: bytes to the server, bytes from it, connections. TCP payload, HTTP's headers included; IP and TCP headers not.
"""

import fcntl, mmap, os, socket, struct, sys, threading

CHUNK = 1 << 20
F_SETPIPE_SZ = 1031


class Counters:
    def __init__(self, path):
        with open(path, "w+b") as file:
            file.truncate(24)
            self.memory = mmap.mmap(file.fileno(), 24)
        self.lock = threading.Lock()

    def add(self, which, amount):
        with self.lock:
            before = struct.unpack_from("=Q", self.memory, which * 8)[0]
            struct.pack_into("=Q", self.memory, which * 8, before + amount)


def carry(source, sink, counters, which):
    """Moves bytes until `source` ends, then tells `sink` so."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, F_SETPIPE_SZ, CHUNK)
    try:
        while moved := os.splice(source.fileno(), writing, CHUNK):
            counters.add(which, moved)
            while moved:
                moved -= os.splice(reading, sink.fileno(), moved)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
    finally:
        os.close(reading)
        os.close(writing)


def serve(client, port, counters):
    with client:
        try:
            server = socket.create_connection(("127.0.0.1", port))
        except OSError:
            return
        with server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            upward = threading.Thread(target=carry, args=(client, server, counters, 0), daemon=True)
            upward.start()
            carry(server, client, counters, 1)
            upward.join()


def end_with_input():
    sys.stdin.read()
    os._exit(0)


def main():
    port, counters = int(sys.argv[1]), Counters(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=end_with_input, daemon=True).start()
    while True:
        client, _ = listener.accept()
        counters.add(2, 1)
        threading.Thread(target=serve, args=(client, port, counters), daemon=True).start()


if __name__ == "__main__":
    main()
