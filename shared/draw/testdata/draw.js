// The arithmetic of a draw, as package shared/draw has it, for a browser. Leaves, digests, seeds and
// ranks are lower-case hexadecimal digits, so that they compare as texts.

/** @param {string} digits */
const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Digests texts as UTF-8. @param {...BlobPart} parts */
async function sha256(...parts) {
  const digest = await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The digest of a page is that of its leaves, that of a roll is of its pages, and the dice are that of a signature. @param {...string} values */
export const digestOf = (...values) => sha256(bytes(values.join("")));

/** @param {string} user @param {string} nonce */
export const leafOf = (user, nonce) => sha256(user + "\0", bytes(nonce));

/** @param {string} sale @param {string} roll @param {string} dice */
export const seedOf = (sale, roll, dice) => sha256("flashsale draw 1\0" + sale + "\0", bytes(roll + dice));

/** @param {string} seed @param {string} leaf */
export const rankOf = async (seed, leaf) => (await digestOf(seed, leaf)).slice(0, 32);
