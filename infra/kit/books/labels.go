package books

// judgeLabels compares the sale's labels with those of its creation and its listing.
func (p *pass) judgeLabels(h *header) {
	p.findIf(h.hasSale && h.hasCreate && h.sale.Labels != h.create.Labels, "P15", "sale labels",
		"the sale has the labels %q, but was created with %q", h.sale.Labels, h.create.Labels)
	p.findIf(h.hasSale && h.listed && h.listing.Labels != h.sale.Labels, "P26", "listing labels",
		"the list of sales has the labels %q, the sale %q", h.listing.Labels, h.sale.Labels)
}

// checkLabels compares the labels of a claim, a refund or a change with the sale's.
func (p *pass) checkLabels(about, what, labels string) {
	if of := p.lasting().Labels; labels != of {
		p.find("P26", about+" labels", "%s has the labels %q, but its sale %q: the events differ", what, labels, of)
	}
}
