# SPDX-License-Identifier: Apache-2.0
"""A server (`baro serve`), its clients and jobs for it: shared by test_serve_*.py."""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess

import pytest
from conftest import poll

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "correct-horse-battery-staple"


class Server:
    def __init__(self, baro, *options, folder=None, env=None, before=None):
        """before: called last in the child."""
        if not pathlib.Path(baro).with_name("baro-serve").exists():
            pytest.skip("built without libmicrohttpd")
        where = () if "--listen" in options else ("--listen", "127.0.0.1:0")
        self.process = subprocess.Popen([baro, "serve", *where, *options, *([str(folder)] if folder else [])],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, preexec_fn=before)
        self.url = self.process.stdout.readline().decode().strip()
        assert self.url, self.process.stderr.read().decode()
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1]) if self.url.startswith("http") else 0

    def ask(self, path, method="GET", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            c.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            r = c.getresponse()
            return r.status, dict(r.getheaders()), r.read()
        finally:
            c.close()

    def json(self, path, status=200, **headers):
        got, _, body = self.ask(path, **headers)
        assert got == status, (path, got, body)
        return json.loads(body)

    def jobs(self, **filters):
        query = "&".join(f"{k}={v}" for k, v in filters.items())
        return self.json(f"/api/v1/jobs?{query}")["jobs"]

    def summed(self, n):
        """The jobs, once all tapes were read."""
        return poll(lambda: len(j := self.jobs()) >= n
                    and all("cpu_ns" in job or job["state"] == "unreadable" for job in j) and j)

    def raw(self, data, timeout=60):
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            answer = b""
            try:
                s.sendall(data)
                while more := s.recv(65536):
                    answer += more
                    head, end, body = answer.partition(b"\r\n\r\n")
                    length = re.search(rb"Content-Length: (\d+)", head)
                    if end and length and len(body) >= int(length[1]):
                        break
            except (ConnectionResetError, BrokenPipeError, TimeoutError):
                pass
            return answer

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=90)
        text = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return status, text


class Document:
    """docs/openapi.json, and whether answers are as it says."""

    def __init__(self, server):
        self.jsonschema = pytest.importorskip("jsonschema")
        self.server, self.all = server, server.json("/api/v1/openapi.json")
        self.components = self.plain(self.all["components"])

    def plain(self, schema):
        """OpenAPI 3.0 as JSON schema: nullable is a type there."""
        if isinstance(schema, list):
            return [self.plain(x) for x in schema]
        if not isinstance(schema, dict):
            return schema
        made = {k: self.plain(v) for k, v in schema.items() if k not in ("nullable", "format")}
        return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") is True else made

    def parameters(self, path):
        """The names of the parameters of a path that are in the query."""
        named = (self.components["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p
                 for p in self.all["paths"][path]["get"]["parameters"])
        return [p["name"] for p in named if p["in"] == "query"]

    def check(self, path, url):
        """The answer to a request for url, which path of the document describes."""
        schema = self.all["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        answer = self.server.json(url)
        self.jsonschema.validate(answer, dict(self.plain(schema), components=self.components))
        return answer


@pytest.fixture
def serve(baro):
    servers = []

    def start(*options, **more):
        servers.append(Server(baro, *options, **more))
        return servers[-1]

    yield start
    for s in servers:
        if s.process.poll() is None:
            status, text = s.stop()
            assert status == 0, text


@pytest.fixture
def kept(run):
    """Three recordings among the kept runs."""
    for command in (["sh", "-c", "for i in 1 2 3 4 5; do cat /proc/self/stat; done >/dev/null; exit 3"], ["true"],
                    ["sleep", "0.3"]):
        run("run", "-q", "--overhead", "off", "--", *command)


@pytest.fixture
def running(baro):
    """A job that runs until the test ends."""
    jobs = []

    def start(*command, options=()):
        jobs.append(subprocess.Popen([baro, "run", "-q", "--interval", "100ms", "--overhead", "off", *options, "--",
                                      *command], stdin=subprocess.PIPE))
        return jobs[-1]

    yield start
    for job in jobs:
        job.stdin.close()
        job.terminate()  # the wrapper passes it on; killed, it would leave the command behind
        job.wait()


class Stream:
    def __init__(self, server, path, **headers):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=90)
        lines = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        self.response = http.client.HTTPResponse(self.socket)
        self.response.begin()

    def events(self):
        event = {}
        while line := self.response.readline():
            line = line.decode().rstrip("\n")
            if not line and "data" in event:
                yield event
                event = {}
            elif not line:
                event = {}
            elif not line.startswith(":"):
                key, _, value = line.partition(": ")
                event[key] = value

    def close(self):
        self.response.close()
        self.socket.close()
