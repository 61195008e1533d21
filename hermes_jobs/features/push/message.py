"""A message to a browser: encrypted for it alone (RFC 8291, with `aes128gcm` of RFC 8188), and the header
that says which home sends it (VAPID, RFC 8292).
"""

from __future__ import annotations

import base64

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RECORD = 4_096
VALID = 12 * 3_600
"""Seconds for which a signature holds; at most a day (RFC 8292, section 2)."""
LAST_RECORD = b"\x02"
CURVE = ec.SECP256R1()


def encrypted(
    text: bytes, receiver: bytes, auth: bytes, *, sender: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """The body of the request. `receiver`, `auth`: the browser's public key, of 65 bytes, and its secret, of
    16. `sender`, `salt`: a new key and 16 new random bytes for each message. Raises `ValueError` for others.
    """
    if (len(receiver), len(auth)) != (65, 16):
        raise ValueError("a public key has 65 bytes, its secret 16")
    public = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, receiver)
    own = encoded(sender)
    shared = _derived(sender.exchange(ec.ECDH(), public), auth, b"WebPush: info\0" + receiver + own, 32)
    key = _derived(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(shared, salt, b"Content-Encoding: nonce\0", 12)
    header = salt + RECORD.to_bytes(4, "big") + bytes([len(own)]) + own
    return header + AESGCM(key).encrypt(nonce, text + LAST_RECORD, None)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def authorization(key: ec.EllipticCurvePrivateKey, origin: str, contact: str, now: float) -> str:
    """The header `Authorization` for the push service at `origin`. `contact`: a `mailto:` or `https:` URL."""
    claims = {"aud": origin, "exp": int(now) + VALID, "sub": contact}
    return f"vapid t={jwt.encode(claims, key, 'ES256')}, k={to_base64(encoded(key))}"


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new key."""
    return ec.generate_private_key(CURVE)


def key_of(text: str) -> ec.EllipticCurvePrivateKey:
    """The key whose number stands in the text, in hex. Raises `ValueError`."""
    return ec.derive_private_key(int(text, 16), CURVE)


def text_of(key: ec.EllipticCurvePrivateKey) -> str:
    """The key's number, in hex."""
    return f"{key.private_numbers().private_value:064x}"


def encoded(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The public key as an uncompressed point, 65 bytes."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def to_base64(content: bytes) -> str:
    """In base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def from_base64(text: str) -> bytes:
    """What stands in the text in base64url, with padding or without. Raises `ValueError`."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
