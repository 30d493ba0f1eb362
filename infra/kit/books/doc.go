// Package books recounts a sale from its table, as ITEMS.md describes the items, and
// reports what does not add up.
//
// It shares no code with the writers of the items: neither the ledger's, nor the code
// for hashing, order ids or spreading units. So a fault there cannot also be here. It
// only reads, and every read is consistent.
//
// A sale may be recounted while it sells. If something does not add up, it is counted
// again after SettleTime, with pauses between the reads, and is a finding only if it
// still does not add up. So these are not findings:
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
//
// CheckEvents compares published events with the items in the same way, as
// infra/docs/EVENTS.md describes the events.
package books
