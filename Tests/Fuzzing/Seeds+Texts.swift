extension Seeds {
  private static let chain = String(repeating: "c4", count: 16)
  private static let digest = String(repeating: "0123456789abcdef", count: 4)

  /// For the parsers of text.
  static let texts: [String: [String]] = [
    "s3": [
      """
      <?xml version='1.0'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><IsTruncated>true\
      </IsTruncated><NextContinuationToken>abc</NextContinuationToken><EncodingType>url</EncodingType><Contents>\
      <Key>repo%2Fa</Key><Size>12</Size></Contents></ListBucketResult>
      """,
      "<Error><Code>AccessDenied</Code><Message>no &amp; no</Message></Error>",
      "<!DOCTYPE a [<!ENTITY b 'cccc'><!ENTITY d '&b;&b;&b;&b;'>]><Error><Code>&d;&d;</Code></Error>",
    ],
    "webdav": [
      """
      <?xml version='1.0'?><D:multistatus xmlns:D='DAV:'><D:response><D:href>/dav/</D:href><D:propstat><D:prop>\
      <D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>\
      </D:response><D:response><D:href>/dav/a%20b</D:href><D:propstat><D:prop><D:getcontentlength>7\
      </D:getcontentlength><D:resourcetype/></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\
      </D:multistatus>
      """,
      "<multistatus xmlns='DAV:'><response><href>http://localhost:8080/dav/../x</href></response></multistatus>",
    ],
    "headers": [
      "Sun, 06 Nov 1994 08:49:37 GMT", "2009-10-12T17:50:30.000Z", "bytes 0-99/1234", "bytes 0-9/*", "120",
      "http://host:8080/a%20b", "https://[::1]:443/", "a%2Fb+c",
    ],
    "names": [
      "versions/\(chain)/000000000001-0000-4096-\(digest)", "packs/\(chain)/\(digest)", "gone/\(chain)/4096-\(digest)",
      "tomb/\(chain)/4096-\(digest)", "notes/\(chain)/4096-\(digest)", "keys/1-176-\(digest)",
      "keyring/2-4096-\(digest)", "config/1-4096-\(digest)", "repo/\(chain)-64-\(digest)", "tmp/1f-2.part",
    ],
    "configuration": [
      """
      {"host": "web-1", "limits": {"upload": "5MiB/s"}, "verifyRemote": "24h", "baseLimit": "20GiB", "targets":
      {"disk": {"url": "file:///mnt", "passphraseFile": "/etc/p"}, "bucket": {"url": "s3://b/p", "region": "eu",
      "style": "path", "accessKeyId": "A", "secretKeyCommand": "pass show a", "objectLock": {"days": 30, "mode":
      "governance"}}}, "databases": {"app": {"path": "/srv/app.db", "method": "pages", "tags": ["a"], "targets":
      ["disk"], "companions": ["a", {"path": "/b", "exclude": ["*.tmp", "c/**"]}], "keep": {"last": 7, "within": "48h",
      "tags": ["b"]}, "drill": {"query": "SELECT 1", "timeout": "60s"}, "fork": 0, "compression": 1}}}
      """,
      #"{"a": [1e9, -0.5, true, null, "\u00e9\ud83d\ude00\n"], "b": {"b": []}}"#,
    ],
    "selectors": [
      "latest", "app:latest", "app@2026-11-20T12:00:00.123+01:00", "app@2026-02-28T23:59:59Z", "9c06ab3f",
      "12-0123456789abcdef", "2026-11-20T12:00:00Z", "2026-11-20",
    ],
    "quantities": ["4096", "512KiB", "1 GiB", "5MB/s", "500ms", "24h", "7d", "9223372036854775807"],
    "patterns": ["*.tmp\na/b.tmp", "**/cache/**\na/cache/b", "[!a-c]?x*\ndyxz", "a*b*c*d\naabbccdd"],
    "mounts": [
      """
      22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
      30 22 0:25 / /srv rw - fuse.sshfs host:/a\\040b rw,user_id=0
      31 30 0:26 / /srv/data rw shared:2 master:1 - nfs4 host:/export rw
      """
    ],
    "places": [
      "s3://bucket/a%20b?endpoint=https://h:9000&region=eu&style=path", "webdavs://user@host:8443/a/b", "file:///srv/b",
      "[default]\naws_access_key_id = A\naws_secret_access_key=b\ns3 =\n  x = 1\n# c\n[profile p]\nregion=eu\n",
    ],
    "state": [
      #"{"sequence":7,"id":"\#(digest)"}"#, #"{"number":2,"digest":"\#(digest)","epoch":1,"cuts":0}"#,
      #"{"store":"file:///a","time":1795176000000}"#,
      """
      {"signature":{"database":{"device":1,"inode":2,"size":4096,"modified":3,"changed":4}},"repository":"\(chain)",\
      "chain":"\(chain)","object":"a","seenAt":5,"version":{"id":"\(digest)","database":"a","host":"b","target":"c",\
      "time":1,"size":2,"pageSize":3,"pages":4,"method":"vacuum","bytesNew":5,"sequence":6,"tags":[],"note":"",\
      "damaged":false,"notCheckable":false,"sha256":"","formatVersion":1,"pinned":false}}
      """,
    ],
    "bases": [
      """
      {"pageSize":4096,"method":"vacuum","anchor":{"length":8192,"cost":4096,"decoded":8192},"middle":{"length":8192,\
      "cost":100,"decoded":9000},"firstMiddleCost":90,"excessOfMiddles":10,"firstLeafCost":50,"excessOfLeaves":9}
      """,
      #"{"\#(chain)":{"length":8192,"whole":4096,"firstDelta":100,"excess":20}}"#,
    ],
  ]
}
