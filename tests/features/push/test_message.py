"""The example of RFC 8291, byte for byte."""

from __future__ import annotations

import pytest

from hermes_jobs.features.push.message import encrypted, from_base64, key_of, new_key, text_of, to_base64

RECEIVER = from_base64(
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
)
AUTH = from_base64("BTBZMqHH6r4Tts7J_aSIgg")
SENDER = key_of(from_base64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw").hex())
SALT = from_base64("DGv6ra1nlYgDCS1FRnbzlw")
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEq"
    "KK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def test_the_example_of_the_rfc() -> None:
    text = b"When I grow up, I want to be a watermelon"
    assert to_base64(encrypted(text, RECEIVER, AUTH, sender=SENDER, salt=SALT)) == BODY


def test_keys_that_no_browser_has_are_refused() -> None:
    compressed = b"\2" + RECEIVER[1:33]
    beside_the_curve = RECEIVER[:-1] + b"\0"
    for receiver, auth in ((compressed, AUTH), (beside_the_curve, AUTH), (RECEIVER, AUTH[1:])):
        with pytest.raises(ValueError, match=r"."):
            encrypted(b"", receiver, auth, sender=SENDER, salt=SALT)


def test_a_key_is_read_as_it_was_written() -> None:
    key = new_key()
    assert len(text_of(key)) == 64
    assert key_of(text_of(key)).private_numbers() == key.private_numbers()
