"""Prints vectors.json: a draw from its entrants to its calls, by an implementation of its own.

usage: python3 vectors.py >vectors.json

Nonces, leaves, digests, seed and ranks are lower-case hexadecimal, and users are UTF-8. A page that is
not listed is empty, and has the digest emptyPage. Each call is for a number of units and for those
above lo: it reaches to hi, the highest rank called.
"""

import hashlib
import hmac
import json

SALE = "moutai-2026"
LEAF_KEY = hashlib.sha256(b"a key that is not secret").digest()
ROUND = 21000000  # of quicknet
SIGNATURE = bytes.fromhex("971cbe88adc436f6411fd26d51887ede7ba144264cd05edec6645b5e170a7702d16082947a85d89c89cb47cd8eb7d817")
USERS = ["alice", "bob", "2f1c7c1e-6f0b-4b0e-9f0a-3d1b8a4c5e6f", "auth0|5f7c8ec7c33c6c004bbafe82", "with space", "ß",
         "Jos\u00e9", "Jose\u0301", "用户-台北", "👟"] + [f"user-{i}" for i in range(30)]


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


entrants, pages = [], [[] for _ in range(256)]
for user in USERS:
    nonce = hmac.new(LEAF_KEY, user.encode(), hashlib.sha256).digest()
    leaf = sha(user.encode(), b"\0", nonce)
    entrants.append({"user": user, "nonce": nonce, "leaf": leaf})
    pages[leaf[0]].append(leaf)
digests = [sha(*sorted(page)) for page in pages]
roll, randomness = sha(*digests), sha(SIGNATURE)
seed = sha(b"flashsale draw 1\0", SALE.encode(), b"\0", roll, randomness)
for e in entrants:
    e["rank"] = sha(seed, e["leaf"])[:16]
order = sorted(e["rank"] for e in entrants)

calls, lo, before = [], bytes(16), 0
for units in [3, 1, 0, 25, 1000, 5]:
    last = min(before + units, len(order))
    hi = order[last - 1] if last > before else lo
    calls.append({"lo": lo, "units": units, "hi": hi, "called": last - before})
    lo, before = hi, last

print(json.dumps({
    "about": "A draw, as vectors.py prints it and says what it means.",
    "sale": SALE, "leafKey": LEAF_KEY, "entrants": entrants,
    "pages": {f"{i:02x}": d for i, d in enumerate(digests) if pages[i]}, "emptyPage": sha(),
    "roll": roll, "round": ROUND, "signature": SIGNATURE, "randomness": randomness, "seed": seed, "calls": calls,
}, indent=1, ensure_ascii=False, default=bytes.hex))
