#!/usr/bin/env python3
"""A desk whose target is a real server."""
import itertools, os, urllib.parse

from common.desk import Desk


def entry(desk, server, prefix, port=None):
    """What the configuration says of a target below `prefix` at a server, or at the port of a proxy before it."""
    url = urllib.parse.urlsplit(server.get("endpoint") or server["url"])
    port = port or url.port
    if server["kind"] == "s3":
        desk.write_secret(f"{desk.folder}/secret-key", server["secretKey"].encode())
        return {"url": f"s3://{server['bucket']}/{prefix}", "endpoint": f"http://127.0.0.1:{port}", "region": server["region"],
                "style": "path", "accessKeyId": server["accessKey"], "secretKeyFile": f"{desk.folder}/secret-key"}
    desk.write_secret(f"{desk.folder}/password", server["password"].encode())
    return {"url": f"webdav://127.0.0.1:{port}{url.path}/{prefix}", "user": server["user"], "passwordFile": f"{desk.folder}/password"}


class FarDesk(Desk):
    """A clone is a new life at a place of its own: what lies at a server cannot be copied as a folder can."""

    numbers = itertools.count()

    def __init__(self, binary, folder, seed, server, **size):
        self.server, self.seed, self.size = server, seed, size
        super().__init__(binary, folder, seed, **size)

    def empty_target(self):
        return entry(self, self.server, f"desk-{os.getpid()}-{next(self.numbers)}")

    def clone(self, folder):
        return FarDesk(self.binary, folder, self.seed, self.server, **self.size)
