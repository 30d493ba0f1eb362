package sale

import "strings"

const (
	// MaxLabels is the most labels of a sale.
	MaxLabels = 10
	// MaxLabel is the longest label, in characters.
	MaxLabel = 50
	// MaxLabelBytes bounds all labels together, with their commas: every claim repeats
	// them and must cost one write unit, which is 1 KiB.
	MaxLabelBytes = 512
)

// Labels are names that other systems have for a sale, such as "sku=A-38,erp=4711", separated
// by commas. They mean nothing here and never change. The sale's claims and refunds repeat
// them, because an event is derived from one item alone.
type Labels string

// List returns the labels in their order, none of "".
func (l Labels) List() []string {
	if l == "" {
		return nil
	}
	return strings.Split(string(l), ",")
}

func (l Labels) check() error {
	all := l.List()
	if len(all) > MaxLabels || len(l) > MaxLabelBytes {
		return Refusef(InvalidRequest, "labels must be at most %d, of at most %d bytes together", MaxLabels, MaxLabelBytes)
	}
	for _, label := range all {
		if label == "" || !validText(label, MaxLabel) || label != strings.TrimSpace(label) {
			return Refusef(InvalidRequest,
				"labels must be separated by commas, each 1 to %d printable characters without a space at its ends", MaxLabel)
		}
	}
	return nil
}
