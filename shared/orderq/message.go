package orderq

import (
	"flashsale/shared/jsonwrite"
	"flashsale/shared/sale"
)

// Message names one accepted claim.
type Message struct {
	SaleID  string `json:"saleId"`
	User    string `json:"user"`
	ClaimID string `json:"claimId"`
	// Buckets is the sale's number of them, see sale.Claim; 0 if not known. With it the
	// claim is found without reading its sale, an item that the whole crowd reads.
	Buckets int `json:"buckets"`
}

// Of returns the message of a claim.
func Of(c sale.Claim) Message {
	return Message{SaleID: c.SaleID, User: c.User, ClaimID: c.ID, Buckets: c.Buckets}
}

// Encode writes the message as JSON.
func Encode(m Message) string {
	o := make(jsonwrite.Object, 0, 192)
	o.Int("v", sale.WritesMessages)
	o.Text("saleId", m.SaleID)
	o.Text("user", m.User)
	o.Text("claimId", m.ClaimID)
	if m.Buckets != 0 {
		o.Int("buckets", int64(m.Buckets))
	}
	return string(o.Close())
}
