package providers

import (
	"encoding/json"
	"net/http"

	"flashsale/infra/kit/client/webhook"
)

const controlPath = "/_local/providers"

// control is how a provider behaves.
type control struct {
	Refuse      string  `json:"refuse"`      // the code with which it refuses; "" if it does not
	Balance     *int64  `json:"balance"`     // what it can give back; nil is any amount
	Silent      bool    `json:"silent"`      // it notifies of nothing
	LoseAnswers float64 `json:"loseAnswers"` // the share of answers that do not arrive, also the API's
	FailLater   bool    `json:"failLater"`   // what it accepts from now on fails later
	Generous    bool    `json:"generous"`    // it gives back again what the shop asks for under another id
	Error       int     `json:"error"`       // the status with which it answers without a look; 0 if it does not
}

// count is a payment by its provider's count, in the units of its API: what waits was accepted and is not back yet, refunds did
// not fail, and calls named it.
func count(of *payment) map[string]int64 {
	c := map[string]int64{"paid": of.Paid, "back": 0, "waits": 0, "refunds": 0, "failed": 0, "calls": of.Calls}
	for _, r := range of.Refunds {
		if r.State == failed {
			c["failed"]++
			continue
		}
		c["refunds"]++
		c[map[state]string{pending: "waits", succeeded: "back"}[r.State]] += r.Amount
	}
	return c
}

// show answers how the providers behave, and what they did with each payment.
func (p *Providers) show(w http.ResponseWriter, _ *http.Request) {
	type shown struct {
		control
		Payments map[string]map[string]int64 `json:"payments"`
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]shown{}
	for name, c := range p.controls {
		all[name] = shown{*c, map[string]map[string]int64{}}
	}
	for _, of := range p.kept.Payments {
		all[of.Provider].Payments[of.Reference] = count(of)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// set changes how a provider behaves; what the body leaves out stays. No refund of Alipay fails later: what a bank returns
// is paid into the buyer's balance.
func (p *Providers) set(w http.ResponseWriter, r *http.Request) {
	body, _ := readAgain(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	name := r.PathValue("provider")
	if p.controls[name] == nil {
		http.NotFound(w, r)
		return
	}
	next := *p.controls[name]
	if !strictly(body, &next) || next.LoseAnswers < 0 || next.LoseAnswers > 1 || next.FailLater && name == webhook.Alipay ||
		next.Error != 0 && (next.Error < 400 || next.Error > 599) {
		http.Error(w, "it cannot behave so: HTTP.md says what can be set", http.StatusBadRequest)
		return
	}
	*p.controls[name] = next
}

// giveByHand gives back as a person does on the provider's pages.
func (p *Providers) giveByHand(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Back int64 }
	_ = json.NewDecoder(r.Body).Decode(&asked)
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.kept.Payments[r.PathValue("provider")+"/"+r.PathValue("reference")]
	switch {
	case of == nil:
		http.NotFound(w, r)
	case asked.Back < 1 || asked.Back > of.rest(false) || !p.controls[of.Provider].spend(asked.Back):
		http.Error(w, "so much cannot go back", http.StatusConflict)
	default:
		p.add(of, "", asked.Back, succeeded)
	}
}
