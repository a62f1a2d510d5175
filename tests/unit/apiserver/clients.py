"""HTTP clients of a server, as the fixtures `admin` and `anonymous` are."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import aiohttp


def client_context(kubeconfig: dict[str, Any], folder: Path | None) -> ssl.SSLContext:
    """Trusts the server; presents the certificate of the kubeconfig's user, if there is a folder to put it in."""
    authority = base64.b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    if folder is not None:
        user = kubeconfig["users"][0]["user"]
        chain = folder / "client.pem"
        names = ("client-certificate-data", "client-key-data")
        chain.write_bytes(b"".join(base64.b64decode(user[name]) for name in names))
        context.load_cert_chain(chain)
    return context


class Client:
    """Sends requests to a server and reads JSON."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    async def __call__(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        async with self.session.request(method, self.url + path, **options) as response:
            if "json" in response.headers.get("Content-Type", ""):
                return response.status, await response.json(content_type=None)
            return response.status, await response.text()

    async def full(self, method: str, path: str, **options: Any) -> tuple[aiohttp.ClientResponse, bytes]:
        async with self.session.request(method, self.url + path, **options) as response:
            return response, await response.read()
