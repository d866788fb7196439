"""How the tests build pages and hand them to a browser."""
import functools
import http.server
import pathlib
import shutil
import subprocess
import sys
import threading


def installed(command):
    """Where a command is that was installed beside this Python, under whatever name its system gives it."""
    return shutil.which(command, path=pathlib.Path(sys.executable).parent)


def build(source, out):
    return subprocess.run([installed("jupyter-book"), "build", source, "-W", "--keep-going",
                           "--path-output", out], capture_output=True, text=True)


def serve(folder, **headers):
    """The address at which the folder is served, each file with these headers."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def end_headers(self):
            for header in headers.items():
                self.send_header(*header)
            super().end_headers()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"
