package sale

import (
	"cmp"
	"net/url"
	"strings"
)

const (
	// MaxAbout is the longest text about a sale, in characters.
	MaxAbout = 500
	// MaxURL is the longest address of a picture or of a link, in bytes.
	MaxURL = 500
)

// Presentation is what buyers see of a sale besides its name, window and stock. Any of it
// may be empty.
type Presentation struct {
	Image string // address of the picture, https
	About string // plain text, possibly of several lines
	Link  string // address of a page about it, https
}

func (p *Presentation) check() error {
	switch {
	case p.Image != "" && httpsOrigin(p.Image) == "":
		return refuseAddress("image")
	case p.Link != "" && httpsOrigin(p.Link) == "":
		return refuseAddress("link")
	case !validText(strings.ReplaceAll(p.About, "\n", " "), MaxAbout):
		return Refusef(InvalidRequest, "about must be at most %d printable characters and line breaks", MaxAbout)
	}
	return nil
}

func refuseAddress(field string) error {
	return Refusef(InvalidRequest,
		"%s must be an address of at most %d characters that begins with https://, percent-encoded", field, MaxURL)
}

// CheckImage refuses a picture that is not of the origin, the only one from which the
// buyer's page may load it; "" allows none.
func (p *Presentation) CheckImage(origin string) error {
	switch {
	case p.Image == "" || httpsOrigin(p.Image) == origin:
		return nil
	case origin == "":
		return Refuse(InvalidRequest, "no image can be shown: the stack's parameter ImageOrigin is empty")
	}
	return Refusef(InvalidRequest, "image must be of %s, which is the stack's parameter ImageOrigin", origin)
}

// httpsOrigin returns the origin of an absolute https address, "" of anything else. Only
// characters that every reader takes for the same are allowed: a browser takes a backslash
// for a slash.
func httpsOrigin(address string) string {
	isNot := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) }
	if len(address) > MaxURL || strings.ContainsFunc(address, isNot) {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return ""
	}
	return "https://" + u.Host
}

// Description asks to correct what buyers read about an existing sale. nil keeps a field;
// "" removes it, and the name is then the sale's id.
type Description struct {
	SaleID                   string
	ChangeID                 string // as in Edit
	Name, Image, About, Link *string
	Author
	ReadVersion *ReadVersion // as in Edit
}

// Check validates the description.
func (d *Description) Check() error {
	after := d.Apply(Sale{ID: d.SaleID, Name: d.SaleID})
	switch {
	case !ValidID(d.SaleID):
		return RefuseID("saleId")
	case d.Name == nil && d.Image == nil && d.About == nil && d.Link == nil:
		return Refuse(InvalidRequest, "give at least one of name, image, about and link; an empty one is removed")
	case !validText(after.Name, MaxName):
		return errName
	}
	return cmp.Or(after.check(), checkChangeID(d.ChangeID), d.Author.Check())
}

// Change returns what the description asks for.
func (d *Description) Change() Change {
	return Change{
		ID: d.ChangeID, Action: ActionDescribe, Author: d.Author, Name: d.Name, Image: d.Image, About: d.About, Link: d.Link,
	}
}

// Apply returns the sale as it is described.
func (d *Description) Apply(s Sale) Sale {
	for field, value := range map[*string]*string{&s.Name: d.Name, &s.Image: d.Image, &s.About: d.About, &s.Link: d.Link} {
		if value != nil {
			*field = *value
		}
	}
	if s.Name == "" {
		s.Name = s.ID
	}
	return s
}
