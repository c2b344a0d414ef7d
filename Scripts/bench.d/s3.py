#!/usr/bin/python3
"""The little of S3 that the measurement itself needs, straight to the server: what is stored, and taking it away."""

import datetime, hashlib, hmac, http.client, urllib.parse, xml.etree.ElementTree

NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


class Bucket:
    def __init__(self, target):
        self.address = target["endpoint"].split("://")[1]
        self.name = target["bucket"]
        self.access_key, self.secret_key, self.region = target["accessKey"], target["secretKey"], target["region"]
        self.connection = None

    def listing(self, prefix):
        """Name → (size, ETag) of every object whose name begins so."""
        found, token = {}, None
        while True:
            query = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
            root = xml.etree.ElementTree.fromstring(self.request("GET", f"/{self.name}", query))
            for item in root.iter(NAMESPACE + "Contents"):
                text = {part.tag[len(NAMESPACE) :]: part.text for part in item}
                found[text["Key"]] = (int(text["Size"]), text["ETag"])
            token = root.findtext(NAMESPACE + "NextContinuationToken")
            if not token:
                return found

    def delete(self, name):
        self.request("DELETE", f"/{self.name}/{name}", {})

    def request(self, method, path, query):
        """The body of the answer; a connection that the server has closed meanwhile is made anew once."""
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection(self.address, timeout=120)
                target, headers = self.signed(method, path, query)
                self.connection.request(method, target, headers=headers)
                answer = self.connection.getresponse()
                body = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise
        if answer.status not in (200, 204):
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {body[:200]!r}")
        return body

    def signed(self, method, path, query):
        """Request target and headers, by signature version 4."""
        path = urllib.parse.quote(path, safe="/-_.~")
        pairs = sorted(
            (urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~")) for k, v in query.items()
        )
        text = "&".join(f"{k}={v}" for k, v in pairs)
        moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        payload = hashlib.sha256(b"").hexdigest()
        headers = {"host": self.address, "x-amz-content-sha256": payload, "x-amz-date": moment}
        signed = ";".join(sorted(headers))
        canonical = "\n".join(
            [method, path, text, *(f"{k}:{headers[k]}" for k in sorted(headers)), "", signed, payload]
        )
        scope = [moment[:8], self.region, "s3", "aws4_request"]
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = "\n".join(["AWS4-HMAC-SHA256", moment, "/".join(scope), digest])
        key = b"AWS4" + self.secret_key.encode()
        for part in [*scope, to_sign]:
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.access_key}/{'/'.join(scope)}, "
            f"SignedHeaders={signed}, Signature={key.hex()}"
        )
        return path + (f"?{text}" if text else ""), headers
