"""The address at which others on the network reach this app, and its QR code."""

import base64
import io
import socket
from html import escape
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
ELSEWHERE = ("192.0.2.1", 9)  # reserved for documentation: nothing is sent there


def own_address() -> str | None:
    """This machine's address on its network; None where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)  # only chooses the way out; no packet leaves
        except OSError:
            return None
        found = probe.getsockname()[0]
    return None if found in HERE else found


def reachable(address: str) -> str | None:
    """An address of this app as others can open it; None where nobody else can."""
    parts = urlsplit(address)
    if parts.hostname not in HERE:
        return address
    own = own_address()
    if own is None:
        return None
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=f"{own}{port}"))


def code(address: str):
    """A link as a QR code, with its address below."""
    picture = io.BytesIO()
    segno.make(address, error="m").save(picture, kind="svg", border=2, light="#FFFFFF")
    data = base64.b64encode(picture.getvalue()).decode()
    st.html(
        f'<img class=qr alt="QR code of the link" src="data:image/svg+xml;base64,{data}">'
        f"<p class=address>{escape(address)}</p>"
    )
