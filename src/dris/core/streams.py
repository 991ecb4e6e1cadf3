"""Named random streams and order-free tie-breaking: no draw depends on another."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from dris.core.validate import check_count

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def rng_for(seed: int, *names: str | int) -> np.random.Generator:
    """A generator for one named purpose; adding a stream moves no other.

    >>> a, b = (rng_for(0, "proxy", 2, "order").integers(1000) for _ in range(2))
    >>> bool(a == b), bool(a == rng_for(0, "attacker", "order").integers(1000))
    (True, False)
    """
    digest = hashlib.blake2b("\x1f".join(f"{type(n).__name__}:{n}" for n in names).encode())
    key = np.frombuffer(digest.digest()[:16], dtype=np.uint32)
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(check_seed(seed), spawn_key=tuple(key.tolist())))
    )


def seed_for(seed: int, *names: str | int) -> int:
    """A 31-bit seed from a named stream, for libraries that want an integer."""
    return int(rng_for(seed, *names).integers(2**31 - 1))


def hashed_order(ids: NDArray[np.generic], seed: int) -> NDArray[np.uint64]:
    """One 64-bit hash of (seed, id) per example, whatever its position: it breaks ties."""
    seed_hash = hashlib.blake2b(str(check_seed(seed)).encode(), digest_size=8).digest()
    salt = np.frombuffer(seed_hash, dtype="<u8")[0]
    if ids.dtype.kind in "iu":
        return _mix(ids.astype(np.uint64) ^ salt)
    # Ids may be file names, which need not be valid text.
    words = (str(i).encode(errors="surrogatepass") for i in ids.tolist())
    digests = b"".join(hashlib.blake2b(word, digest_size=8).digest() for word in words)
    return _mix(np.frombuffer(digests, dtype="<u8") ^ salt)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: a bijection of 64-bit words in which every bit counts."""
    x = x + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def check_seed(seed: int) -> int:
    """A seed as a whole number, zero or more."""
    return check_count(seed, "seed", at_least=0)
