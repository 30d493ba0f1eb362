// Package books recounts a sale from its table, as ITEMS.md describes the items,
// and says what does not add up.
//
// It shares no code with what writes the items: not the ledger's, and not its hash,
// its order ids or its way of spreading units. A fault there cannot hide in here.
// It only reads, and every read is consistent.
//
// A sale may be recounted while it sells. What does not add up at first is
// counted again after SettleTime, with pauses between the reads, and is a
// finding only if it does not add up then either. So these are no findings:
//
//   - a transaction of which one item is visible before the other, for less than
//     readPause;
//   - purchases, additions and edits that commit between two reads: what changes
//     is read before and after the claims, and the claims may lie in between;
//   - an edit that has not reached every shard, a claim without an order id and an
//     order id without its order item, until they are older than
//     Options.Overdue;
//   - a sale or an addition whose making was cut off: its repeat goes on with it.
//
// The receipt lists the last two as unfinished.
package books
