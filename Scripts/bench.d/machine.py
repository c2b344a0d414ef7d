#!/usr/bin/python3
"""The machine and the versions of everything, for the report."""

import datetime, hashlib, json, os, platform, re, subprocess

VERSIONS = {
    "Sealift": ["{programs}/sealift", "--version"],
    "restic": ["restic", "version"],
    "borg": ["borg", "--version"],
    "duplicity": ["duplicity", "--version"],
    "rclone": ["{programs}/rclone", "version"],
    "Litestream": ["{programs}/litestream", "version"],
    "aws": ["{programs}/aws", "--version"],
    "zstd": ["zstd", "--version"],
    "openssl": ["openssl", "version"],
    "sqlite3": ["sqlite3", "--version"],
    "Ceph": ["radosgw", "--version"],
}


def first_line(command):
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        )
    except OSError:
        return "not there"
    return (done.stdout + done.stderr).strip().split("\n")[0]


def number(text):
    found = re.search(r"\d+\.\d+[\w.+-]*", text)
    return found[0] if found else text


def field(path, name):
    with open(path) as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith(name)), platform.machine())


def build_of(programs):
    """Tells one build of Sealift from another."""
    with open(f"{programs}/sealift", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def processor():
    """Its name alone may be that of several generations, one half as fast as another."""
    told = {name: field("/proc/cpuinfo", name) for name in ("model name", "cpu family", "model\t")}
    family, model = told["cpu family"], told["model\t"]
    known = family.isdigit() and model.isdigit()
    return told["model name"] + (f" (family {family}, model {model})" if known else "")


def note(folder, programs):
    versions = {
        name: number(first_line([word.format(programs=programs) for word in command]))
        for name, command in VERSIONS.items()
    }
    kernel = platform.release().split("-")[0]
    memory = int(field("/proc/meminfo", "MemTotal").split()[0]) >> 10
    with open(f"{folder}/machine.json", "w") as file:
        json.dump(
            {
                "processor": processor(),
                "cores": os.cpu_count(),
                "memory": f"{memory / 1024:.0f} GiB",
                "kernel": f"Linux {kernel}",
                "date": datetime.date.today().isoformat(),
                "versions": versions,
            },
            file,
            indent=2,
        )
