// A client of one sale or group without a face: flashsale.d.ts says what it gives.

/** @param {import("./flashsale.js").Options} options @returns {import("./flashsale.js").Drop} */
export function flashsale({}) {
  throw new Error("not yet");
}
