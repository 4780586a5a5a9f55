# SPDX-License-Identifier: Apache-2.0
"""A store of metrics that takes remote write and OTLP, and answers as a test wants: late, wrong, or not at all. It reads
the messages itself, so it knows which points arrived, and which of them were accepted."""

import http.server
import math
import struct
import threading
import time

STALE = 0x7FF0000000000002


# ---- messages -------------------------------------------------------------------------------------------------------


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Each field of a message of protobuf: its number, and a number or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        elif key & 7 == 2:
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
            assert len(value) == n
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, value


def unsnappy(data):
    """The block format of snappy."""
    total, at = varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            n = tag >> 2
            if n >= 60:
                n, at = int.from_bytes(data[at:at + n - 59], "little"), at + n - 59
            out += data[at:at + n + 1]
            at += n + 1
            continue
        if tag & 3 == 1:
            n, offset, at = (tag >> 2 & 7) + 4, (tag >> 5 << 8) | data[at], at + 1
        else:
            size = 2 if tag & 3 == 2 else 4
            n, offset, at = (tag >> 2) + 1, int.from_bytes(data[at:at + size], "little"), at + size
        for _ in range(n):
            out.append(out[-offset])
    assert len(out) == total
    return bytes(out)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def number(data):
    """A double; the end of a series is "end"."""
    return "end" if struct.unpack("<Q", data)[0] == STALE else struct.unpack("<d", data)[0]


def remote_write_1(data):
    """Points: ((name, (label, value), ...), time in ms, value)."""
    for n, series in fields(data):
        assert n == 1
        labels, samples = [], []
        for n, part in fields(series):
            inner = dict(fields(part))
            if n == 1:
                labels.append((inner[1].decode(), inner[2].decode()))
            else:
                samples.append((signed(inner[2]), number(inner.get(1, bytes(8)))))
        assert labels == sorted(labels) and len({k for k, _ in labels}) == len(labels)
        assert all(k and v for k, v in labels), labels
        assert [t for t, _ in samples] == sorted({t for t, _ in samples}), "times of a series"
        for t, v in samples:
            yield tuple(labels), t, v


def remote_write_2(data):
    symbols = [v.decode() for n, v in fields(data) if n == 4]
    assert symbols[0] == "" and len(set(symbols)) == len(symbols)
    for n, series in fields(data):
        if n != 5:
            continue
        refs, samples, meta = [], [], None
        for n, part in fields(series):
            if n == 1:
                at = 0
                while at < len(part):
                    ref, at = varint(part, at)
                    refs.append(ref)
            elif n == 2:
                inner = dict(fields(part))
                samples.append((signed(inner[2]), number(inner.get(1, bytes(8)))))
            elif n == 5:
                meta = dict(fields(part))
        labels = [(symbols[k], symbols[v]) for k, v in zip(refs[::2], refs[1::2])]
        assert labels == sorted(labels) and meta and meta[1] in (1, 2) and symbols[meta[3]]
        assert (meta[1] == 1) == dict(labels)["__name__"].endswith("_total")
        for t, v in samples:
            yield tuple(labels), t, v


def otlp(data):
    """Points: ((name, (attribute, value), ...), time in ns, (start, value)). Attributes of the resource included."""
    def attributes(parts):
        for part in parts:
            inner = dict(fields(part))
            yield inner[1].decode(), dict(fields(inner[2]))[1].decode()

    for _, of_resource in fields(data):
        parts = list(fields(of_resource))
        resource = [p for n, p in parts if n == 1][0]
        own = sorted(attributes(p for n, p in fields(resource) if n == 1))
        for scope in (p for n, p in parts if n == 2):
            for metric in (p for n, p in fields(scope) if n == 2):
                inner = list(fields(metric))
                name = [p for n, p in inner if n == 1][0].decode()
                data = [p for n, p in inner if n in (5, 7)][0]
                for point in (p for n, p in fields(data) if n == 1):
                    parts = list(fields(point))
                    at = dict(parts)
                    labels = (("__name__", name), *own, *sorted(attributes(p for n, p in parts if n == 7)))
                    value = "end" if at.get(8) else struct.unpack("<q", at[6])[0] if 6 in at else number(
                        at.get(4, bytes(8)))
                    start, = struct.unpack("<Q", at.get(2, bytes(8)))
                    yield labels, struct.unpack("<Q", at[3])[0], (start, value)


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts)


def long_answer(status):
    return b"HTTP/1.1 %d Long\r\nContent-Length: 300000\r\n\r\n" % status + b"too long " + bytes(299991)


ODD = {  # answers as bytes
    "trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n0\r\nX-Sum: 1\r\n\r\n",
    "hints": b"HTTP/1.1 103 Hints\r\nContent-Type: text/html\r\nX-Prometheus-Remote-Write-Samples-Written: 0\r\n\r\n"
             b"HTTP/1.1 204 No Content\r\n\r\n",
    "continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "long 404": long_answer(404),
    "long 400": long_answer(400),
    "long 200": long_answer(200),
    "http/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18),
    "http/0.9": b"all is well\n",
    "chunks of garbage": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a large chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n" + bytes(1000),
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "status 0": b"HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n",
    "many headers": b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * 90000 + b"\r\n" + b"X-B: b\r\n" * 100000 + b"\r\n",
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n\x1f\x8b\x08\x00\x00",
    "two answers": b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "patience": b"HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n",
    "a lie about a part": b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 14\r\n\r\n"
                          b"\x0a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\x00",
    "less than none": b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 13\r\n\r\n"
                      b"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
}


# ---- the store ------------------------------------------------------------------------------------------------------


class Store:
    """say: called with the number of the request from 0 on, and returns what to answer: "ok", or one of the actions
    below. strict: as Prometheus, it stores nothing of a message with a point that is not newer than those it has, unless
    it is the last one again. version: of remote write; 1 takes a message of 2.0 as one without points, and "415" as one
    that it does not know; 2 stores the good points of a message, and says how many."""

    def __init__(self, say=lambda n: "ok", strict=True, oldest=-math.inf, version=1, tls=None):
        self.tls = tls  # an ssl.SSLContext
        self.say, self.strict, self.oldest, self.version = say, strict, oldest, version
        self.points, self.last, self.requests, self.headers = {}, {}, 0, []
        self.twice = 0
        self.lock = threading.Lock()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                store.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 1000
            daemon_threads = True

        self.kind, self.handler, self.server, self.port = Server, Handler, None, 0
        self.listen(True)

    def url(self, protocol="prometheus"):
        return f"{protocol}+http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def listen(self, is_up):
        """Begins or ceases to be there, at the same port."""
        if is_up and not self.server:
            self.server = self.kind(("127.0.0.1", self.port), self.handler)
            if self.tls:
                self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
            self.port = self.server.server_address[1]
            threading.Thread(target=self.server.serve_forever, daemon=True).start()
        elif self.server and not is_up:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def close(self):
        self.listen(False)

    def read(self, request, body):
        if request.path.endswith("/v1/metrics"):
            return list(otlp(body))
        is_2 = "proto=io.prometheus.write.v2.Request" in request.headers["Content-Type"]
        if is_2 and self.version != 2:
            return None
        return list((remote_write_2 if is_2 else remote_write_1)(unsnappy(body)))

    def keep(self, points):
        """Returns why they are refused; "": they are stored."""
        last = dict(self.last)
        for labels, t, v in points:
            if t < self.oldest:
                return "out of bounds"
            if self.strict and t < last.get(labels, (-1, 0))[0]:
                return "out of order sample"
            if self.strict and t == last.get(labels, (-1, 0))[0] and last[labels][1] != v:
                return "duplicate sample for timestamp"
            last[labels] = (t, v)
        for labels, t, v in points:
            self.twice += (labels, t) in self.points
            assert self.points.get((labels, t), v) == v, "the same point with another value"
            self.points[labels, t] = v
        self.last = last
        return ""

    def answer(self, request):
        length = int(request.headers["Content-Length"])
        body = request.rfile.read(length)
        if len(body) < length:  # the pusher was killed
            request.close_connection = True
            return
        with self.lock:
            n, self.requests = self.requests, self.requests + 1
            self.headers.append(dict(request.headers))
            action = self.say(n)
            stores = action in ("ok", "old ok", "lost", "garbage", "stored 503", "trailers", "hints", "continues", "gzip",
                                "two answers", "less than none") or action.startswith("sleep")
            points = self.read(request, body)
            if points is None and action in ("ok", "partial"):
                return self.reply(request, 415 if self.version == "415" else 204)
            if self.version == 2 and action == "ok":
                return self.answer_2(request, points)
            if action.startswith("most "):  # "most BYTES": of a message
                action = "ok" if length <= int(action.split()[1]) else "413"
                stores = action == "ok"
            why = self.keep(points or []) if stores else ""
        request.close_connection = True
        if action in ("lost", "cut"):
            request.connection.close()
        elif action == "garbage":
            request.wfile.write(b"\x00\xffgarbage\r\n\r\n")
        elif action.startswith("sleep"):
            time.sleep(float(action.split()[1]))
            self.reply(request, 204)
        elif action == "cut headers":
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
        elif action.startswith("body "):  # "body STATUS TEXT"
            self.reply(request, int(action.split()[1]), action.split(" ", 2)[2].encode())
        elif action.startswith("written "):  # "written STATUS NUMBER"
            self.reply(request, int(action.split()[1]), b"no", {
                "X-Prometheus-Remote-Write-Samples-Written": action.split()[2]})
        elif action == "html":
            self.reply(request, 200, b"<html>sign in</html>", {"Content-Type": "text/html; charset=utf-8"})
        elif action == "endless":
            request.send_response(200)
            request.end_headers()
            try:
                while True:
                    request.wfile.write(bytes(65536))
            except OSError:
                pass
        elif action in ODD:
            try:
                request.wfile.write(ODD[action])
            except OSError:
                pass
        elif action.startswith("partial"):
            self.partial(request, points, int(action.split()[1]))
        elif action == "stored 503":
            self.reply(request, 503, b"later")
        elif action[:3].isdigit():
            status, _, after = action.partition(" ")
            self.reply(request, int(status), b"no", {"Retry-After": after} if after else {})
        else:
            self.reply(request, 400 if why else 204, why.encode())

    def answer_2(self, request, points):
        refused = [why for point in points if (why := self.keep([point]))]
        self.reply(request, 400 if refused else 204, refused[0].encode() if refused else b"",
                   {"X-Prometheus-Remote-Write-Samples-Written": str(len(points) - len(refused))})

    def partial(self, request, points, refused):
        """OTLP: stores all but some, and says so."""
        with self.lock:
            self.keep((points or [])[refused:])
        why = b"some are bad\x1b[2J"
        inner = bytes([8, refused, 18, len(why)]) + why
        self.reply(request, 200, bytes([10, len(inner)]) + inner, {"Content-Type": "application/x-protobuf"})

    @staticmethod
    def reply(request, status, body=b"", headers=None):
        try:
            request.send_response(status)
            for k, v in (headers or {}).items():
                request.send_header(k, v)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)
        except OSError:
            pass
