#!/usr/bin/env python3
"""The objects at a target, reached without Sealift: to take them away, to spoil them and to put them back."""
import base64, hashlib, hmac, http.client, os, re, time, urllib.parse
import xml.etree.ElementTree as tree


class Folder:
    def __init__(self, path):
        self.path = path

    def names(self):
        found = [os.path.relpath(f"{parent}/{name}", self.path) for parent, _, files in os.walk(self.path) for name in files]
        return sorted(name for name in found if not name.startswith("tmp/"))

    def read(self, name):
        with open(f"{self.path}/{name}", "rb") as file:
            return file.read()

    def write(self, name, body):
        with open(os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)

    def delete(self, name):
        os.unlink(f"{self.path}/{name}")


class Web:
    """One request after the other, over a connection of its own."""

    def __init__(self, server, prefix):
        url = urllib.parse.urlsplit(server.get("endpoint") or server["url"])
        self.host, self.server, self.prefix = url.netloc, server, prefix
        self.base = "/".join([url.path.rstrip("/"), *self.root(), prefix])

    def request(self, method, path, body=b"", query="", headers=None):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            signed = self.sign(method, path, query, body) | (headers or {})
            connection.request(method, path + (f"?{query}" if query else ""), body, signed)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise OSError(f"{method} {path}: status {answer.status}: {content[:200]!r}")
            return content
        finally:
            connection.close()

    def read(self, name):
        return self.request("GET", f"{self.base}/{name}")

    def write(self, name, body):
        self.request("PUT", f"{self.base}/{name}", body)

    def delete(self, name):
        self.request("DELETE", f"{self.base}/{name}")


class S3(Web):
    def root(self):
        return [self.server["bucket"]]

    def sign(self, method, path, query, body):
        now, region = time.gmtime(), self.server["region"]
        date, moment, payload = time.strftime("%Y%m%d", now), time.strftime("%Y%m%dT%H%M%SZ", now), hashlib.sha256(body).hexdigest()
        headers = {"host": self.host, "x-amz-content-sha256": payload, "x-amz-date": moment}
        listed = ";".join(sorted(headers))
        canonical = "\n".join([method, path, query, *(f"{name}:{headers[name]}" for name in sorted(headers)), "", listed, payload])
        scope = f"{date}/{region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.server['secretKey']}".encode()
        for part in (date, region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        return headers | {"Authorization": f"AWS4-HMAC-SHA256 Credential={self.server['accessKey']}/{scope}, SignedHeaders={listed}, Signature={signature}"}

    def names(self):
        query = "list-type=2&max-keys=1000&prefix=" + urllib.parse.quote(self.prefix + "/", safe="")
        content = self.request("GET", f"/{self.server['bucket']}", query=query).decode()
        if "<IsTruncated>true" in content:
            raise OSError("more than a thousand objects")
        return sorted(urllib.parse.unquote(key)[len(self.prefix) + 1:] for key in re.findall("<Key>([^<]*)</Key>", content))


class WebDAV(Web):
    def root(self):
        return []

    def sign(self, method, path, query, body):
        return {"Authorization": "Basic " + base64.b64encode(f"{self.server['user']}:{self.server['password']}".encode()).decode()}

    def names(self, folder=""):
        found = []
        place = f"{self.base}/{folder}"
        content = self.request("PROPFIND", place, headers={"Depth": "1"})
        for response in tree.fromstring(content).iter("{DAV:}response"):
            path = urllib.parse.unquote(urllib.parse.urlsplit(response.findtext("{DAV:}href")).path)
            name = path[len(self.base) + 1:]
            if name.rstrip("/") == folder.rstrip("/") or name.startswith("tmp"):
                continue
            found += self.names(name) if path.endswith("/") else [name]
        return sorted(found)


def objects(server, prefix):
    return (S3 if server["kind"] == "s3" else WebDAV)(server, prefix)
