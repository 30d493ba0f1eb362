// The words of the refunds that the stack sends, in English, as in words.js.

export const w = {
  give: "Give back {0|payment|payments}, {1}", some: "{0|payment|payments}", yes: "Yes, give it back",
  warns: "The stack asks the providers for it. What they have accepted cannot be called back.",
  not: "Not sent: {0|payment|payments}, {1}: {2}",
  why: {
    held: "held back by a dispute", provider: "the stack cannot ask this provider", accepted: "accepted by the provider, which sends it", amount: "of an unknown amount", stuck: "the provider waits for you",
    part: "a part is back: give the rest back at the provider", old: "unknown for too long: look at the provider", late: "due only since the list was read",
  },
  most: "At most 100 chosen payments are given back at once.", stale: "Read the list again before you give back more.", unread: "Not all is read: choose what is given back.",
  going: "Sending it …", unsure: "Not certain: no final answer yet. It is sent again under the same id, so it begins once.", ended: "Not certain: press again, or look below.",
  title: "Given back by the stack", taken: "{0} of {1} sent", left: "{0} to be looked at again", open: "goes on", stoppedBy: "stopped by {0}", over: "ended", by: "Begun by {0}",
  halt: "Nothing more is sent to {0} until the next press:", stop: "Stop", notStopped: "Not stopped: {0}", unreadable: "Some cannot be read by this version.",
  n: { accepted: "{0} accepted", unknown: "{0} unknown", refused: "{0} refused" },
  sent: { accepted: "{0} has accepted it, and says when it is back.", unknown: "Sent to {0}, no certain answer: it may be back.", refused: "{0} has refused it:" },
};
