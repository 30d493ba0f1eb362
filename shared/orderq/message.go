package orderq

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/sale"
)

// Message names one accepted claim.
type Message struct {
	SaleID  string `json:"saleId"`
	User    string `json:"user"`
	ClaimID string `json:"claimId"`
	// Buckets is the sale's number of them, see sale.Claim; 0 if not known. With it the
	// claim is found without reading its sale, an item that the whole crowd reads.
	Buckets int `json:"buckets,omitzero"`
}

// wire is a message with the version of its format.
type wire struct {
	V int `json:"v"`
	Message
}

// Of returns the message of a claim.
func Of(c sale.Claim) Message {
	return Message{SaleID: c.SaleID, User: c.User, ClaimID: c.ID, Buckets: c.Buckets}
}

// Encode writes the message as JSON.
func Encode(m Message) string {
	text, _ := jsonv2.Marshal(&wire{sale.WritesMessages, m}, jsontext.AllowInvalidUTF8(true)) // which always encodes
	return string(text)
}
