/** The server's endpoints may be relative: the local stack's are. */
export const endpoint = (/** @type {string} */ url) => new URL(url, location.origin);
