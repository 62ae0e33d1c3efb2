"""A small Hugging Face hub on this machine: what it is asked for, it answers as the real one does."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

CHUNK = 1 << 14
COMMITS = {"main": "a" * 40, "step512": "b" * 40}


@dataclass
class Repository:
    """Files by revision; `gated` ones give out nothing but their existence."""

    files: dict[str, dict[str, bytes]]
    licence: str | None = "apache-2.0"
    gated: bool = False


@dataclass
class FakeHub:
    """Use as a context manager; `asked` lists the files that were fetched, `down` answers everything with 503.

    slow: seconds of waiting before each 16 kB of a file.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    down: bool = False
    slow: float = 0

    def __enter__(self) -> FakeHub:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                hub._answer(self)

            def do_GET(self) -> None:
                hub._answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        parts = [unquote(part) for part in urlsplit(request.path).path.strip("/").split("/")]
        parts = parts[2:] if parts[:2] == ["api", "models"] else parts
        repository = self.repositories.get("/".join(parts[:2]))
        verb, revision, file = parts[2] if len(parts) > 2 else "", *[*parts[3:5], "", ""][:2]
        name = next((name for name, commit in COMMITS.items() if revision in (name, commit)), "")
        if self.down:
            _send(request, 503, b"")
        elif repository is None:
            _send(request, 404, b"", {"X-Error-Code": "RepoNotFound"})
        elif name not in repository.files:
            _send(request, 404, b"", {"X-Error-Code": "RevisionNotFound"})
        elif verb == "revision":
            _send(request, 200, self._about(parts, repository, name))
        elif repository.gated:
            _send(request, 403, b"", {"X-Error-Code": "GatedRepo"})
        elif verb == "tree":
            _send(request, 200, self._tree(repository, name))
        else:
            content = repository.files[name][file]
            if request.command == "GET":
                self.asked.append(file)
            headers = {"ETag": f'"{hashlib.sha1(content).hexdigest()}"', "X-Repo-Commit": COMMITS[name]}
            _send(request, 200, content, headers, self.slow)

    def _about(self, parts: list[str], repository: Repository, name: str) -> bytes:
        files = [
            {"rfilename": file, "size": len(content)} for file, content in repository.files[name].items()
        ]
        card = {} if repository.licence is None else {"license": repository.licence}
        about = {"id": "/".join(parts[:2]), "sha": COMMITS[name], "siblings": files, "cardData": card}
        settings = json.loads(repository.files[name].get("config.json", b"{}"))
        about["config"] = {
            key: settings[key] for key in ("model_type", "quantization_config") if key in settings
        }
        return json.dumps({**about, "private": False, "gated": repository.gated, "tags": []}).encode()

    def _tree(self, repository: Repository, name: str) -> bytes:
        return json.dumps([
            {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for file, content in repository.files[name].items()
        ]).encode()  # fmt: skip


def _send(
    request: BaseHTTPRequestHandler,
    status: int,
    content: bytes,
    headers: dict[str, str] | None = None,
    slow: float = 0,
) -> None:
    request.send_response(status)
    for key, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
        request.send_header(key, value)
    request.end_headers()
    if request.command == "GET":
        with suppress(OSError):  # who asked has gone
            for start in range(0, len(content), CHUNK):
                time.sleep(slow)
                request.wfile.write(content[start : start + CHUNK])
