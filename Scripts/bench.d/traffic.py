#!/usr/bin/python3
"""Counts what clients of one TCP port send and receive, as the kernel tells it: nothing stands in their way.

Every socket's own counters (tcp_info: bytes sent, less those sent again) are asked for by sock_diag(7), of sockets that
are open when somebody wants to know, and of each other one in the moment that it is destroyed. The client's end of a
connection tells what was sent, the server's what was received: TCP payload, HTTP's headers included. An end that has said
its last and heard the other's is not seen until its process closes it. Needs root.
"""

import socket, struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, SO_RCVBUFFORCE = 4, 20, 270, 1, 33
DESTROYED = (1, 3)  # the groups that hear of TCP over IPv4 and IPv6
REQUEST_AND_DUMP, DONE, ERROR, TCP, ALL_STATES, INET_DIAG_INFO = 0x301, 3, 2, 6, 0xFFFFFFFF, 2
DIAG_MESSAGE, BYTES_SENT = 72, 200  # the length of inet_diag_msg; the place of tcpi_bytes_sent, tcpi_bytes_retrans


class Traffic:
    def __init__(self, port):
        self.port, self.gone, self.past = port, set(), [0, 0]
        self.events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
        self.events.bind((0, 0))
        self.events.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        for group in DESTROYED:
            self.events.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        self.events.setblocking(False)

    def bytes(self):
        """Sent to the port and received from it so far, by all connections since there is this object."""
        self.bury()
        living = {cookie: (end, count) for cookie, end, count in self.living()}
        # One that was not among the living any more is among the dead by now.
        self.bury()
        total = list(self.past)
        for cookie, (end, count) in living.items():
            if cookie not in self.gone:
                total[end] += count
        return tuple(total)

    def bury(self):
        """Counts what was destroyed since. An overflow of what the kernel keeps for us is an OSError: a figure would be wrong."""
        while True:
            try:
                told = self.events.recv(1 << 16)
            except BlockingIOError:
                return
            for cookie, end, count in self.sockets(told):
                if cookie not in self.gone:
                    self.gone.add(cookie)
                    self.past[end] += count

    def living(self):
        for family in socket.AF_INET, socket.AF_INET6:
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as asked:
                asked.settimeout(10)
                question = struct.pack("=BBBBI48x", family, TCP, 1 << (INET_DIAG_INFO - 1), 0, ALL_STATES)
                asked.send(struct.pack("=IHHII", 16 + len(question), SOCK_DIAG_BY_FAMILY, REQUEST_AND_DUMP, 1, 0) + question)
                done = False
                while not done:
                    told = asked.recv(1 << 17)
                    kinds = [kind for kind, _ in messages(told)]
                    if ERROR in kinds:
                        raise OSError("the kernel does not tell of open connections (sock_diag)")
                    done = DONE in kinds
                    yield from self.sockets(told)

    def sockets(self, told):
        """(cookie, 0 for a client's end and 1 for the server's, bytes sent) of those at the port."""
        for kind, body in messages(told):
            if kind != SOCK_DIAG_BY_FAMILY or len(body) < DIAG_MESSAGE:
                continue
            source, destination = struct.unpack_from("!HH", body, 4)
            if self.port not in (source, destination):
                continue
            information = attribute(body, INET_DIAG_INFO)
            if len(information) >= BYTES_SENT + 16:
                sent, again = struct.unpack_from("=QQ", information, BYTES_SENT)
                yield body[44:52], 0 if destination == self.port else 1, sent - again


def messages(told):
    """(kind, body) of each netlink message."""
    place = 0
    while place + 16 <= len(told):
        length, kind = struct.unpack_from("=IH", told, place)
        yield kind, told[place + 16 : place + length]
        place += (max(16, length) + 3) & ~3


def attribute(body, wanted):
    place = DIAG_MESSAGE
    while place + 4 <= len(body):
        length, kind = struct.unpack_from("=HH", body, place)
        if kind == wanted:
            return body[place + 4 : place + length]
        place += (max(4, length) + 3) & ~3
    return b""
