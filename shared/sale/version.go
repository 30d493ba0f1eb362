package sale

// ProgramVersion is the version of this program, by Semantic Versioning: the newest section of the changelog
// and the template's output Version say the same. A release of another minor may store, send or ask
// for something new, one of another patch only mends.
const ProgramVersion = "0.12.0"

// Versions of what is stored in the table and sent in messages. Releases run side by
// side during a deployment and after a roll-back, so a release reads what the next one
// will write: first deploy the reader, then the writer.
//
//   - Whatever an older reader would misunderstand is a new version: a state it would
//     show as another, a count it would get wrong. Anything else (an optional attribute
//     that only adds) is not.
//   - The release that reads version n raises Reads and writes nothing of it. The next
//     one writes it: minReader n into the sale, its listing and each of its claims, in
//     their creation and never later. Only sales that need it get it, so that all others
//     can still be read after a roll-back by two releases.
//   - An item with a higher minReader is refused with NewerVersion and never interpreted
//     in part (P19).
//
// A recalled, sealed or extended sale is the exception to "never later": an older reader would sell it again
// once it is resumed, or release orders that have more time, so the recall, the seal or the extension writes
// minReader into the item of a sale that exists. Its listing and its claims say nothing that an older
// reader would misread: see OrdersReader. So is the claim of a cancelled order, which an older reader
// would take for a paid one, or count as released.
const (
	// Reads is the highest minReader of an item that this version understands.
	Reads = 8
	// ReadsPayment is the version that a reader of a sale with a PayWithin needs.
	ReadsPayment = 2
	// ReadsGroups is the version that a reader of a sale with a LimitGroup needs.
	ReadsGroups = 3
	// ReadsRecalls is the version that a reader of a recalled sale needs.
	ReadsRecalls = 3
	// ReadsDraws is the version that a reader of a sale with a Draw needs.
	ReadsDraws = 4
	// ReadsSealed is the version that a reader of a sealed sale needs.
	ReadsSealed = 5
	// ReadsOperators is the version that a reader of what operators do about orders needs: of a sale with a
	// PayUntil or a LateFor, and of the claim of an order that they have cancelled after it was paid, or whose
	// unit they keep.
	ReadsOperators = 6
	// ReadsExtras is the version that a reader of the item of a sale with Extras needs: an older one would give each
	// payment back.
	ReadsExtras = 7
	// ReadsUnits is the version that a reader of a sale with a MaxPerOrder needs: an older one would count each of its
	// orders as one unit, and sell no more than one.
	ReadsUnits = 8
	// ReadsMessages is the highest version of an order message that it understands, and
	// WritesMessages the one that it sends.
	ReadsMessages  = 1
	WritesMessages = 1
)

// OrdersReader is the version that a reader of the sale's listing, claims and guards needs; 0 means that any
// will do. It follows from what never changes.
func (s *Sale) OrdersReader() int {
	switch {
	case s.MaxPerOrder != 0:
		return ReadsUnits
	case s.LateFor != 0:
		return ReadsOperators
	case s.HasDraw():
		return ReadsDraws
	case s.LimitGroup != "":
		return ReadsGroups
	case s.AsksForPayment():
		return ReadsPayment
	}
	return 0
}
