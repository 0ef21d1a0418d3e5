"""What is encoded at rest comes back as it was, or not at all."""

from __future__ import annotations

import subprocess
import sys
import zlib
from typing import Any

import pytest
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import ConfigError
from remit.store.payload import Chain, Compressed, Encrypted, Payload, PayloadError

KEY, OTHER = Fernet.generate_key(), Fernet.generate_key().decode()
CODECS: list[Payload] = [
    Compressed(),
    Compressed(level=9, limit=100),
    Encrypted(KEY),
    Chain(Compressed(), Encrypted([KEY, OTHER])),
    Chain(Encrypted(KEY), Compressed()),
    Chain(),
]
bodies = st.binary(max_size=300) | st.binary(max_size=9).map(lambda part: part * 40)


@given(st.sampled_from(CODECS), bodies)
def test_every_body_comes_back_as_it_was(codec: Payload, body: bytes) -> None:
    assert codec.decode(codec.encode(body)) == body


def test_what_repeats_itself_becomes_short_and_what_does_not_stays_as_long() -> None:
    assert len(Compressed().encode(b'{"a":1}' * 1000)) < 100
    assert len(Compressed().encode(bytes(range(256)))) == 257


def test_what_is_encrypted_shows_nothing_and_is_another_each_time() -> None:
    codec = Encrypted(KEY)
    one, other = codec.encode(b"secret" * 9), codec.encode(b"secret" * 9)
    assert b"secret" not in one
    assert one != other


def test_a_new_key_encrypts_and_the_old_one_still_decrypts() -> None:
    old = Encrypted(KEY).encode(b"old")
    rotated = Encrypted([OTHER, KEY])
    assert rotated.decode(old) == b"old"
    assert Encrypted(OTHER).decode(rotated.encode(b"new")) == b"new"
    with pytest.raises(PayloadError, match="behind the newest"):
        Encrypted(KEY).decode(rotated.encode(b"new"))


@pytest.mark.parametrize("at", [1, 9, 30, -1])
def test_what_was_changed_is_refused(at: int) -> None:
    stored = bytearray(Encrypted(KEY).encode(b"pay 5"))
    stored[at] ^= 1
    with pytest.raises(PayloadError):
        Encrypted(KEY).decode(bytes(stored))


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = b"\x01" + zlib.compress(bytes(50_000_000), 9)
    with pytest.raises(PayloadError, match="more than 1,000 bytes"):
        Compressed(limit=1000).decode(bomb)


def test_a_body_that_could_not_be_read_again_is_not_compressed() -> None:
    codec = Compressed(limit=1000)
    assert codec.decode(codec.encode(b"a" * 1001)) == b"a" * 1001


@pytest.mark.parametrize("damage", [b"", b"x", b"\x01\x02", zlib.compress(b"a")[:-1]])
def test_damaged_compression_is_refused(damage: bytes) -> None:
    with pytest.raises(PayloadError, match="damaged"):
        Compressed().decode(b"\x01" + damage)


def test_a_chain_reads_what_its_codecs_wrote_alone() -> None:
    chain = Chain(Compressed(), Encrypted(KEY))
    body = b'{"a":1}' * 100
    assert chain.decode(Compressed().encode(body)) == body
    assert chain.decode(Encrypted(KEY).encode(body)) == body


@pytest.mark.parametrize("keys", ["", "secret", b"x" * 44, [], [KEY, "short"], [5]])
def test_a_key_that_is_none_is_refused_and_not_shown(keys: Any) -> None:
    with pytest.raises(ConfigError, match="generate_key") as raised:
        Encrypted(keys)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("options", [{"level": 0}, {"level": 10}, {"limit": 0}, {"limit": "1"}])
def test_compression_that_cannot_work_is_refused(options: Any) -> None:
    with pytest.raises(ConfigError):
        Compressed(**options)


def test_encryption_without_its_library_says_what_to_install() -> None:
    code = """
import sys
sys.modules["cryptography"] = None
from remit.errors import ConfigError
from remit.store.payload import Compressed, Encrypted
Compressed()
try:
    Encrypted("x")
except ConfigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[encryption]'" in done.stdout
