#!/usr/bin/python3
"""rclone's crypt remote: encrypts whole files; every version is a file of its own."""

from tools.base import CopyingTool


def write_settings(room, crypt):
    """rclone.conf with the remote `s` (the bucket) and, when asked, `c` (encrypted, in the room's prefix)."""
    lines = [
        "[s]",
        "type = s3",
        "provider = Ceph",
        f"endpoint = {room.wire.endpoint}",
        f"access_key_id = {room.bucket.access_key}",
        f"secret_access_key = {room.bucket.secret_key}",
        "no_check_bucket = true",
    ]
    if crypt:
        first, second = (
            room.output([f"{room.programs}/rclone", "obscure", word]).strip()
            for word in ("correct horse", "battery staple")
        )
        lines += ["[c]", "type = crypt", f"remote = s:{room.path}", f"password = {first}", f"password2 = {second}"]
    path = f"{room.folder}/rclone.conf"
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


class Rclone(CopyingTool):
    def prepare(self):
        self.settings = write_settings(self.room, crypt=True)

    def rclone(self, *arguments):
        self.room.step([f"{self.room.programs}/rclone", "--config", self.settings, *arguments])

    def push(self):
        self.take_copy()
        self.count += 1
        self.rclone("copyto", self.room.copy, f"c:app-{self.count}.db")

    def restore(self, output):
        self.rclone("copyto", f"c:app-{self.count}.db", output)


class RcloneVacuum(Rclone):
    name, title, method = "rclone/vacuum", "rclone crypt after VACUUM INTO", "vacuum"


class RcloneBackup(Rclone):
    name, title, method = "rclone/backup", "rclone crypt after .backup", "backup"


TOOLS = [RcloneVacuum, RcloneBackup]
