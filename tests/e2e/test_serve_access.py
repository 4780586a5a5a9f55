# SPDX-License-Identifier: Apache-2.0
"""baro serve: who may ask, for what, and over which addresses."""

import contextlib
import json
import shutil
import socket
import subprocess

import pytest
from serving import TOKEN, kept, serve  # noqa: F401 (fixtures)


def test_host(serve):
    s = serve("--allow-host", "build7")
    for host in ("localhost", "127.0.0.1:80", "[::1]:2276", "10.1.2.3", "build7", "BUILD7:99"):
        assert s.ask("/healthz", Host=host)[0] == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "localhost:x", "[::1",
                 "build7@evil", "[::1]x", "localhost:123456"):
        assert s.ask("/healthz", Host=host)[0] == 421, host


def test_headers_that_can_be_read_in_two_ways(serve):
    """400, and the connection ends: what follows is no request."""
    s, n = serve(), b"\r\nContent-Length: "
    following = b"\r\n\r\nGET /api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert s.raw(b"GET /healthz HTTP/1.1\r\n\r\n").split()[1] == b"400"  # no host
    for headers in (b"Host: localhost\r\nHost: localhost\r\n\r\n", b"Host: localhost\r\nHost: evil.example\r\n\r\n",
                    b"Host: evil.example\r\nhost: localhost\r\n\r\n", b"Host: localhost" + n + b"0" + n + b"0" + following,
                    b"Host: localhost" + n + b"0\r\ncontent-length: 44" + following,
                    b"Host: localhost" + n + b"44\r\nTransfer-Encoding: chunked\r\n\r\n0" + following,
                    b"Host: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0" + following,
                    b"Host: localhost\r\nContent-Length : 44" + following):
        answer = b""
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
            c.sendall(b"GET /healthz HTTP/1.1\r\n" + headers)
            with contextlib.suppress(ConnectionResetError):
                while more := c.recv(65536):
                    answer += more
        assert answer.split()[1] == b"400" and answer.count(b"HTTP/1.1 ") == 1, (headers, answer)


def test_token(serve, work):
    (work / "token").write_text(TOKEN + "\n")
    s = serve("--token-file", str(work / "token"))
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
                    {"Cookie": f"baro_session={TOKEN}"}):
        for path in ("/", "/healthz", "/metrics", "/api/v1/jobs", "/?token=wrong", "/nothing"):
            status, got, _ = s.ask(path, **headers)
            assert status == 401 and got["WWW-Authenticate"].startswith("Bearer"), path
    assert s.ask("/healthz", Authorization=f"Bearer {TOKEN}")[0] == 200
    status, got, _ = s.ask(f"/?token={TOKEN}")
    assert status == 303 and got["Location"] == "/" and TOKEN not in str(got)
    assert "HttpOnly" in got["Set-Cookie"] and "SameSite=Strict" in got["Set-Cookie"]
    assert s.ask("/", Cookie="a=b; " + got["Set-Cookie"].split(";")[0])[0] == 200
    status, got, _ = s.ask(f"//evil.example/?token={TOKEN}")
    assert got["Location"] == "/evil.example/"


def test_a_token_is_required_where_others_can_connect(baro, work):
    r = subprocess.run([baro, "serve", "--listen", "*:0"], capture_output=True, text=True)
    if "not installed" in r.stderr:
        pytest.skip("built without libmicrohttpd")
    assert r.returncode == 2 and "--token-file" in r.stderr
    (work / "short").write_text("abc\n")
    r = subprocess.run([baro, "serve", "--token-file", str(work / "short")], capture_output=True, text=True)
    assert r.returncode == 2 and "16" in r.stderr


def test_wrong_addresses(baro, serve):
    taken = f"127.0.0.1:{serve().port}"
    for where in ("nowhere", "127.0.0.1:99999", "example.org:80", "unix:", "unix:" + "x" * 200, "256.0.0.1:1", taken):
        r = subprocess.run([baro, "serve", "--listen", where], capture_output=True, text=True)
        assert r.returncode == 2 and len(r.stderr.splitlines()) == 1, where


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_unix_socket(serve, work):
    path = work / "s"
    s = serve("--listen", f"unix:{path}")
    assert path.stat().st_mode & 0o777 == 0o600
    r = subprocess.run(["curl", "-s", "--unix-socket", str(path), "http://localhost/healthz"], capture_output=True)
    assert json.loads(r.stdout)["status"] == "ok"
    s.process.kill()  # leaves the socket
    s.process.wait()
    s = serve("--listen", f"unix:{path}")
    assert s.stop()[0] == 0 and not path.exists()


def test_methods(serve):
    s = serve()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        status, headers, _ = s.ask("/api/v1/jobs", method=method)
        assert status == 405 and headers["Allow"] == "GET, HEAD"
    status, headers, body = s.ask("/healthz", method="HEAD")
    assert status == 200 and not body and int(headers["Content-Length"]) > 10


def test_no_way_out_of_the_folder(serve, kept):
    s = serve()
    s.summed(3)
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/jobs/..%2f..%2fetc%2fpasswd/report",
                 "/api/v1/jobs/..", "/api/v1/jobs/%00", "/jobs//etc/passwd/report", "/api/v1/jobs/" + "x" * 3000,
                 "/host.js/../x", "/api/v1/jobs/a%0d%0ab"):
        status, _, body = s.ask(path)
        assert status == 404 and json.loads(body)["error"], path
