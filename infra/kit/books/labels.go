package books

import "strings"

// labels are those of a sale, "" if the attribute is missing.
func (f *fields) labels() string {
	if !f.has("labels") {
		return ""
	}
	text := f.text("labels")
	all := strings.Split(text, ",")
	for _, label := range all {
		f.failIf(label == "" || !isText(label, 50) || label != strings.TrimSpace(label), "labels are not separated by commas, each 1 to 50 printable characters")
	}
	f.failIf(len(all) > 10 || len(text) > 512, "labels are more than 10, or more than 512 bytes")
	return text
}

// judgeLabels compares the sale's labels with those of its creation and its listing.
func (p *pass) judgeLabels(h *header) {
	p.findIf(h.hasSale && h.hasCreate && h.sale.labels != h.create.labels, "P15", "sale labels",
		"the sale has the labels %q, but was created with %q", h.sale.labels, h.create.labels)
	p.findIf(h.hasSale && h.listed && h.listing.labels != h.sale.labels, "P26", "listing labels",
		"the list of sales has the labels %q, the sale %q", h.listing.labels, h.sale.labels)
}

// checkLabels compares the labels of a claim, a refund or a change with the sale's.
func (p *pass) checkLabels(about, what, labels string) {
	if of := p.lasting().labels; labels != of {
		p.find("P26", about+" labels", "%s has the labels %q, but its sale %q: the events differ", what, labels, of)
	}
}
