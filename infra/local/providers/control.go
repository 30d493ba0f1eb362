package providers

import (
	"encoding/json"
	"net/http"

	"flashsale/infra/kit/client/webhook"
)

const controlPath = "/_local/providers"

// counted is a payment by its provider's count, in the units of its API.
type counted struct {
	Order    string `json:"order"`
	Currency string `json:"currency"`
	Paid     int64  `json:"paid"`
	Back     int64  `json:"back"`
	Waits    int64  `json:"waits"`   // what was accepted and is not back yet
	Refunds  int    `json:"refunds"` // that did not fail
	Failed   int    `json:"failed"`
	Calls    int    `json:"calls"` // that named it
}

func count(of *payment) counted {
	c := counted{Order: of.Order, Currency: of.Currency, Paid: of.Paid, Calls: of.Calls, Refunds: len(of.Refunds)}
	for _, r := range of.Refunds {
		switch r.State {
		case failed:
			c.Refunds, c.Failed = c.Refunds-1, c.Failed+1
		case pending:
			c.Waits += r.Amount
		case succeeded:
			c.Back += r.Amount
		}
	}
	return c
}

// show answers how the providers behave, and what they did with each payment.
func (p *Providers) show(w http.ResponseWriter, _ *http.Request) {
	type shown struct {
		control
		Payments map[string]counted `json:"payments"`
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]shown{}
	for name, c := range p.controls {
		all[name] = shown{*c, map[string]counted{}}
	}
	for _, of := range p.kept.Payments {
		all[of.Provider].Payments[of.Reference] = count(of)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// set changes how a provider behaves; what the body leaves out stays.
func (p *Providers) set(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, known := p.controls[r.PathValue("provider")]
	if !known {
		http.NotFound(w, r)
		return
	}
	next := *c
	read := json.NewDecoder(r.Body)
	read.DisallowUnknownFields()
	switch err := read.Decode(&next); {
	case err != nil || next.LoseAnswers < 0 || next.LoseAnswers > 1 || next.Error != 0 && (next.Error < 400 || next.Error > 599):
		http.Error(w, `the body must be as {"refuse":"code","balance":100,"silent":true,"loseAnswers":0.5,"failLater":true,"generous":true,"error":500}`, http.StatusBadRequest)
	case next.FailLater && r.PathValue("provider") == webhook.Alipay:
		http.Error(w, "no refund of Alipay fails later: what a bank returns is paid into the buyer's balance", http.StatusBadRequest)
	default:
		*c = next
	}
}

// giveByHand gives back as a person does on the provider's pages.
func (p *Providers) giveByHand(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Back int64 }
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.kept.Payments[r.PathValue("provider")+"/"+r.PathValue("reference")]
	switch err := json.NewDecoder(r.Body).Decode(&asked); {
	case err != nil || asked.Back < 1:
		http.Error(w, `the body must be as {"back":100}, in the units of the provider's API`, http.StatusBadRequest)
	case of == nil:
		http.NotFound(w, r)
	case asked.Back > of.rest() || !p.controls[of.Provider].spend(asked.Back):
		http.Error(w, "so much is not left", http.StatusConflict)
	default:
		p.add(of, "", asked.Back, succeeded)
	}
}
