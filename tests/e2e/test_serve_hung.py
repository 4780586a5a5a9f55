# SPDX-License-Identifier: Apache-2.0
"""baro serve while the file system of tapes does not answer."""

import concurrent.futures
import shutil

import pytest
from serving import Stream, serve  # noqa: F401 (fixtures)


@pytest.mark.long
def test_requests_that_open_tapes_that_hang(serve, hanging, run):
    """Those that read no tape are answered meanwhile, and all others when the file system answers again."""
    run("run", "-q", "-o", f"{hanging.folder}/h0.baro", "--", "true")
    for i in range(1, 6):
        shutil.copyfile(f"{hanging.folder}/h0.baro", f"{hanging.folder}/h{i}.baro")
    s = serve(folder=hanging.folder)
    s.summed(6)
    stream = Stream(s, "/api/v1/live")
    hanging.hang_reads()
    kinds = ("/jobs/{}/report", "/api/v1/jobs/{}/processes", "/api/v1/jobs/{}/verdicts")
    try:
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(s.ask, kinds[i % 3].format(f"h{i}")) for i in range(6)]
            hanging.held()
            assert s.ask("/healthz")[0] == 200 and s.ask("/metrics")[0] == 200 and s.ask("/api/v1/jobs")[0] == 200
            hanging.resume()
            assert [f.result()[0] for f in asked] == [200] * 6
    finally:
        hanging.resume()
    stream.close()
