package live

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/kit/client"
)

const (
	maxRequest = 4 << 10
	added      = 50
	// actTime bounds what an action waits for.
	actTime = 30 * time.Second
)

// request is the body of every action; which members count depends on the action.
type request struct {
	Sale     string `json:"sale"`
	User     string `json:"user"`
	Accident string `json:"accident"`
}

// refused is an action that the view refuses, with a status.
type refused struct {
	status int
	says   string
}

func (r *refused) Error() string { return r.says }

// action does what the page asks for and says what happened, in a sentence.
type action func(context.Context, request) (string, error)

func (v *View) actions() map[string]action {
	return map[string]action{
		"buy": v.buy, "rush": v.rush, "add": v.add, "break": v.breakSystem, "heal": v.heal, "recount": v.recountNow,
		"pause":  v.seeded("pause", "Paused: from now on no unit is sold."),
		"resume": v.seeded("resume", "Resumed: the sale sells again."),
	}
}

func (act action) serve(w http.ResponseWriter, r *http.Request) {
	var asked request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&asked); err != nil {
		answer(w, http.StatusBadRequest, "The request cannot be read.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), actTime)
	defer cancel()
	says, err := act(ctx, asked)
	if no := (*refused)(nil); errors.As(err, &no) {
		answer(w, no.status, no.says)
	} else if err != nil {
		answer(w, http.StatusBadGateway, "It did not work: "+err.Error())
	} else {
		answer(w, http.StatusOK, says)
	}
}

func answer(w http.ResponseWriter, status int, says string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"says": says})
}

func (v *View) buy(ctx context.Context, r request) (string, error) {
	user := strings.TrimSpace(r.User)
	if user == "" || len(user) > 255 {
		return "", &refused{http.StatusBadRequest, "A buyer needs a name of at most 255 characters."}
	}
	token, err := v.o.Client.Token(ctx, user)
	if err != nil {
		return "", err
	}
	a, err := v.o.Client.Buy(ctx, r.Sale, token, "")
	if err != nil {
		return "", err
	}
	switch outcome(a) {
	case "accepted":
		return user + " has a unit. The order id follows.", nil
	case "already-ordered":
		return user + " already has a unit: one order per buyer.", nil
	case "sold-out":
		return user + " came too late: sold out.", nil
	case "busy":
		return user + " is told \u201cbusy\u201d: the outcome is not known, and trying again is safe.", nil
	}
	return fmt.Sprintf("%s got the answer %d %s.", user, a.Status, a.Code), nil
}

func (v *View) rush(_ context.Context, r request) (string, error) {
	if !v.send(r.Sale) {
		return "", &refused{http.StatusConflict, "A crowd is already rushing: one at a time."}
	}
	return "1,000 buyers are on their way.", nil
}

// seeded asks SeedFunction for a change that has no members of its own.
func (v *View) seeded(change, says string) action {
	return func(ctx context.Context, r request) (string, error) {
		return says, v.change(ctx, map[string]any{"action": change, "saleId": r.Sale})
	}
}

func (v *View) add(ctx context.Context, r request) (string, error) {
	return fmt.Sprintf("%d units were added, spread over the shards.", added), v.change(ctx, map[string]any{
		"action": "add", "saleId": r.Sale, "seedId": "live-" + strings.ToLower(rand.Text()[:12]), "stock": added,
	})
}

func (v *View) change(ctx context.Context, request map[string]any) error {
	err := v.o.Client.Ask(ctx, client.SeedFunction, request, nil)
	if refusal := (*client.Refusal)(nil); errors.As(err, &refusal) {
		return &refused{http.StatusConflict, "SeedFunction refused: " + refusal.Detail}
	}
	return err
}

func (v *View) breakSystem(ctx context.Context, r request) (string, error) {
	a := findAccident(r.Accident)
	if a == nil {
		return "", &refused{http.StatusBadRequest, "There is no such accident."}
	}
	if err := v.o.System.Inject(ctx, a.injection); err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.accident, v.brokenAt = a, time.Now().UTC(); a.once() {
		v.accident = nil
	}
	return a.Name + ". " + a.Expect, nil
}

func (v *View) heal(ctx context.Context, _ request) (string, error) {
	if err := v.o.System.Inject(ctx, Injection{}); err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.accident = nil
	return "Healed. Orders that are still pending are confirmed within two minutes.", nil
}

func (v *View) recountNow(_ context.Context, r request) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.sales[r.Sale]
	if w == nil {
		return "", &refused{http.StatusConflict, "Nobody looks at this sale."}
	}
	w.asked = true
	return "Every item of the sale is counted again.", nil
}
