package httpapi

import "flashsale/shared/sale"

// Change is an entry of a sale's trail as operators see it. What its action does not set is
// missing.
type Change struct {
	Number   int64       `json:"n,omitempty"`
	ID       string      `json:"id"`
	Action   sale.Action `json:"action"`
	At       string      `json:"at"`
	Actor    string      `json:"actor"`
	Verified bool        `json:"verified"`
	Note     string      `json:"note,omitempty"`
	Paused   *bool       `json:"paused,omitempty"`
	OpensAt  string      `json:"opensAt,omitempty"`
	ClosesAt string      `json:"closesAt,omitempty"`
	PayUntil string      `json:"payUntil,omitempty"`
	Units    int64       `json:"units,omitempty"`
	Name     *string     `json:"name,omitempty"`
	Image    *string     `json:"image,omitempty"`
	About    *string     `json:"about,omitempty"`
	Link     *string     `json:"link,omitempty"`
}

// ChangeOf returns a change as operators see it.
func ChangeOf(c sale.Change) Change {
	shown := Change{
		Number: c.Number, ID: c.ID, Action: c.Action, At: Time(c.At), Actor: c.Actor, Verified: c.Verified, Note: c.Note,
		Units: c.Units, Name: c.Name, Image: c.Image, About: c.About, Link: c.Link,
	}
	if opensAt, closesAt := c.Window(); !opensAt.IsZero() {
		shown.Paused, shown.OpensAt, shown.ClosesAt = &c.Paused, Time(opensAt), Time(closesAt)
	}
	if !c.PayUntil.IsZero() {
		shown.PayUntil = Time(c.PayUntil)
	}
	return shown
}
