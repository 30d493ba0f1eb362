package contract

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/testledger"
	"flashsale/infra/local/issuer"
	"flashsale/shared/sale"
)

// scene is a world for one request of one operation.
type scene struct {
	*world
	api       string // the name of its document
	operation Operation
	path      string
	user      string
	roles     []string // of the user, at the operators' API
	header    []string
	body      string
}

// ask makes the request at a front door.
func (s *scene) ask(d door) Answer {
	d.api = s.api
	return s.at(s.front(d))
}

func (s *scene) at(api http.Handler) Answer {
	request := httptest.NewRequest(s.operation.Method, s.path, strings.NewReader(s.body))
	if s.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if who := (issuer.Claims{Subject: s.user}); s.user != "" {
		if s.api == Operators {
			who.Audience, who.Groups = operatorsAudience, s.roles
		}
		request.Header.Set("Authorization", s.bearer(who))
	}
	for i := 0; i+1 < len(s.header); i += 2 {
		request.Header.Set(s.header[i], s.header[i+1])
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, request)
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s.body)), nil }
	answer := Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if err := opened(s.T, s.api).CheckExchange(request, answer); err != nil {
		s.T.Error(err)
	}
	return answer
}

func (s *scene) on(saleID string) *scene {
	s.path = strings.Replace(s.path, "/"+open, "/"+saleID, 1)
	return s
}

// draw makes the request one to a sale whose draw people may enter from then until then, from
// now.
func (s *scene) draw(from, until time.Duration) *scene {
	now := time.Now()
	s.Open(testledger.WithDraw, func(c *sale.Creation) { c.EnterFrom, c.EnterUntil = now.Add(from), now.Add(until) })
	return s.on(drawn)
}

// entrant makes the request with each entrant of a draw, and returns the answer that has this code.
func (s *scene) entrant(code sale.Code) (answer Answer) {
	for _, s.user = range s.draws() {
		if answer = s.on(drawn).ask(door{}); strings.Contains(string(answer.Body), `"code":"`+string(code)+`"`) {
			return answer
		}
	}
	return answer
}

// reported makes the request the provider's webhook of a payment.
func (s *scene) reported(provider string) *scene {
	_, order := s.confirmedIn(unpaid)
	p := webhook.Payment{SaleID: unpaid, OrderID: strconv.FormatUint(order.ID, 10), PaymentID: "pi_1", Amount: price, Currency: "CNY"}
	r, err := p.Request(s.T.Context(), "", provider, webhook.LocalSecrets[provider], time.Now())
	if err != nil {
		s.T.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	s.path, s.body, s.header = r.URL.Path, string(body), nil
	for name := range r.Header {
		s.header = append(s.header, name, r.Header.Get(name))
	}
	return s
}

// sends makes the request one with that body to the provider's path.
func (s *scene) sends(provider, body string) *scene {
	s.path, s.body = "/payments/"+provider, body
	return s
}

// refunded makes the scene one of a user whose order was paid three times. The operator has
// paid one of the payments back. It returns the order's id.
func (s *scene) refunded() uint64 {
	user, order := s.confirmedIn(unpaid)
	for n := range 3 {
		p := sale.Payment{Provider: "stripe", Reference: fmt.Sprint("pi_", order.ID, n), OrderID: order.ID, Amount: price, Currency: "CNY"}
		_, err := s.book.Pay(s.T.Context(), p)
		if err == nil && n == 2 {
			err = s.book.MarkRefunds(s.T.Context(), unpaid, []string{p.ID()}, "")[0].Err
		}
		if err != nil {
			s.T.Fatal(err)
		}
	}
	s.user = user
	return order.ID
}

// scenes produce each outcome: "status schema" for every operation that has it,
// "operation status schema" for one.
var scenes = map[string]func(s *scene) Answer{
	"purchase 202 PendingClaim": func(s *scene) Answer { return s.ask(door{}) },
	"claim 200 PendingClaim":    func(s *scene) Answer { s.user = s.buy(open).User; return s.ask(door{}) },
	"claim 200 ConfirmedClaim":  func(s *scene) Answer { s.refunded(); return s.on(unpaid).ask(door{}) },
	"order 200 Order": func(s *scene) Answer {
		s.path = fmt.Sprintf("/orders/%d", s.refunded())
		return s.ask(door{})
	},
	"sale 200 Sale":   func(s *scene) Answer { s.draws(); return s.on(drawn).ask(door{}) },
	"group 200 Group": func(s *scene) Answer { return s.ask(door{}) },

	"cancel 200 ConfirmedClaim": func(s *scene) Answer {
		s.user, _ = s.confirmedIn(unpaid)
		return s.on(unpaid).ask(door{})
	},
	"cancel 404 OrderNotFound":  func(s *scene) Answer { return s.on(unpaid).ask(door{}) },
	"cancel 409 NotCancellable": func(s *scene) Answer { return s.ask(door{}) },
	"cancel 409 OrderPending":   func(s *scene) Answer { s.user = s.buy(unpaid).User; return s.on(unpaid).ask(door{}) },
	"cancel 409 OrderPaid": func(s *scene) Answer {
		user, order := s.confirmedIn(unpaid)
		p := sale.Payment{Provider: "stripe", Reference: "pi_1", OrderID: order.ID, Amount: price, Currency: "CNY"}
		if _, err := s.book.Pay(s.T.Context(), p); err != nil {
			s.T.Fatal(err)
		}
		s.user = user
		return s.on(unpaid).ask(door{})
	},
	"cancel 409 OrderExpired": func(s *scene) Answer {
		s.user, _ = s.confirmedIn(unpaid)
		time.Sleep(3 * time.Hour)
		listing, err := s.book.Listing(s.T.Context(), unpaid)
		if err == nil {
			_, err = s.book.ReleaseDue(s.T.Context(), listing, 0)
		}
		if err != nil {
			s.T.Fatal(err)
		}
		return s.on(unpaid).ask(door{})
	},
	"payment 200 Settlement": func(s *scene) Answer { return s.reported(webhook.Stripe).ask(door{}) },
	"payment 200 Taken": func(s *scene) Answer {
		if adyens := s.reported(webhook.Adyen).ask(door{}); string(adyens.Body) != "[accepted]" {
			return adyens
		}
		return s.reported(webhook.Alipay).ask(door{})
	},
	"payment 204":                  func(s *scene) Answer { return s.reported(webhook.WeChatPay).ask(door{}) },
	"payment 404 ProviderNotFound": func(s *scene) Answer { return s.sends("paypal", "").ask(door{}) },
	"payment 400 AlipayFailure":    func(s *scene) Answer { return s.sends(webhook.Alipay, "").ask(door{}) },
	"payment 413 AlipayFailure":    func(s *scene) Answer { return s.sends(webhook.Alipay, strings.Repeat(" ", 1<<20)).ask(door{}) },
	"payment 500 AlipayFailure":    func(s *scene) Answer { return s.reported(webhook.Alipay).ask(door{gone: true}) },
	"payment 503 AlipayFailure":    func(s *scene) Answer { s.reported(webhook.Alipay).Throttles(); return s.ask(door{}) },
	"payment 400 WeChatPayFailure": func(s *scene) Answer { return s.sends(webhook.WeChatPay, "").ask(door{}) },
	"payment 413 WeChatPayFailure": func(s *scene) Answer { return s.sends(webhook.WeChatPay, strings.Repeat(" ", 1<<20)).ask(door{}) },
	"payment 500 WeChatPayFailure": func(s *scene) Answer { return s.reported(webhook.WeChatPay).ask(door{gone: true}) },
	"payment 503 WeChatPayFailure": func(s *scene) Answer { s.reported(webhook.WeChatPay).Throttles(); return s.ask(door{}) },
	"payment 500 Internal":         func(s *scene) Answer { return s.reported(webhook.Stripe).ask(door{gone: true}) },
	"payment 503 Busy":             func(s *scene) Answer { s.reported(webhook.Stripe).Throttles(); return s.ask(door{}) },

	"enter 200 Entry":              func(s *scene) Answer { return s.on(entering).ask(door{}) },
	"enter 403 EnteringNotOpen":    func(s *scene) Answer { return s.draw(time.Hour, 2*time.Hour).ask(door{}) },
	"enter 403 NotEligibleToEnter": func(s *scene) Answer { return s.on(entering).ask(door{picky: true}) },
	"enter 404 DrawNotFound":       func(s *scene) Answer { return s.ask(door{}) },
	"enter 410 EnteringClosed":     func(s *scene) Answer { return s.draw(-2*time.Hour, -time.Hour).ask(door{}) },
	"enter 410 DrawRecalled": func(s *scene) Answer {
		if _, err := s.book.Recall(s.T.Context(), sale.Recall{SaleID: entering}); err != nil {
			s.T.Fatal(err)
		}
		return s.on(entering).ask(door{})
	},
	"enter 415 UnsupportedMediaType": func(s *scene) Answer {
		s.body, s.header = "{}", []string{"Content-Type", "text/plain"}
		return s.on(entering).ask(door{})
	},
	"entry 200 Entry": func(s *scene) Answer {
		s.user = s.draws()[2]
		return s.on(drawn).ask(door{})
	},
	"entry 404 EntryNotFound":  func(s *scene) Answer { return s.on(entering).ask(door{}) },
	"entry 404 DrawNotFound":   func(s *scene) Answer { return s.ask(door{}) },
	"roll 200 PageOfRoll":      func(s *scene) Answer { s.draws(); return s.on(drawn).ask(door{}) },
	"roll 404 RollNotFound":    func(s *scene) Answer { return s.on(entering).ask(door{}) },
	"roll 404 DrawNotFound":    func(s *scene) Answer { return s.ask(door{}) },
	"purchase 403 NotYourTurn": func(s *scene) Answer { return s.entrant(sale.NotYourTurn) },
	"purchase 403 TurnOver":    func(s *scene) Answer { return s.entrant(sale.TurnOver) },

	"page 200 HTML":      func(s *scene) Answer { return s.ask(door{}) },
	"groupPage 200 HTML": func(s *scene) Answer { return s.ask(door{}) },
	"page 404 HTML":      func(s *scene) Answer { return s.on("mou%23tai").ask(door{}) },
	"groupPage 404 HTML": func(s *scene) Answer { s.path = "/g/sho%23e"; return s.ask(door{}) },
	"signin 200 HTML":    func(s *scene) Answer { return s.asking("?code=a&state=b&iss=https%3A%2F%2Fissuer.example") },
	"asset 200 File":     func(s *scene) Answer { s.path = "/assets/page.js"; return s.ask(door{}) },
	"asset 302":          func(s *scene) Answer { s.path = "/assets/page.0123456789abcdef.js"; return s.ask(door{}) },
	"asset 404 File":     func(s *scene) Answer { s.path = "/assets/page.html"; return s.ask(door{}) },

	"400 InvalidRequest": func(s *scene) Answer {
		if buyer := s.user; !s.operation.Public {
			s.user = "\u202evictim" // which no key could hold
			got, err := opened(s.T, s.api).Check(s.operation.Method, &url.URL{Path: s.path}, s.ask(door{}))
			if want := s.operation.ID + " 400 InvalidRequest"; err != nil || got.String() != want {
				s.T.Errorf("of the user %q: %s (%v), want %s", s.user, got, err, want)
			}
			s.user = buyer
		}
		s.path = strings.NewReplacer("/"+open, "/mou%23tai", "/"+group, "/sho%23e", "/4294967297", "/x").Replace(s.path)
		return s.ask(door{})
	},
	"401 Unauthorized":         func(s *scene) Answer { return s.ask(door{open: true}) },
	"403 Forbidden":            func(s *scene) Answer { return s.ask(door{hidden: true}) },
	"purchase 403 SaleNotOpen": func(s *scene) Answer { return s.on(later).ask(door{}) },
	"purchase 403 NotEligible": func(s *scene) Answer { return s.ask(door{picky: true}) },
	"404 SaleNotFound":         func(s *scene) Answer { return s.on("nowhere").ask(door{}) },
	"404 GroupNotFound":        func(s *scene) Answer { s.path = "/groups/nothing"; return s.ask(door{}) },
	"404 OrderNotFound":        func(s *scene) Answer { return s.ask(door{}) },
	"purchase 409 SoldOut":     func(s *scene) Answer { return s.on(empty).ask(door{}) },
	"purchase 409 NotEnough":   func(s *scene) Answer { s.body = `{"units":2}`; return s.on(pairs).ask(door{}) },
	"purchase 410 SaleClosed":  func(s *scene) Answer { return s.on(over).ask(door{}) },
	"purchase 410 Recalled":    func(s *scene) Answer { return s.on(recalled).ask(door{}) },
	"purchase 503 SalePaused":  func(s *scene) Answer { return s.on(paused).ask(door{}) },
	"500 Internal":             func(s *scene) Answer { return s.ask(door{gone: true}) },
	// One code, and so one schema, in a sale and in another of its group.
	"purchase 409 AlreadyOrdered": func(s *scene) Answer {
		s.on(other).ask(door{})
		again := s.ask(door{})
		s.path = strings.Replace(s.path, other, grouped, 1)
		if elsewhere := string(s.ask(door{}).Body); strings.Contains(elsewhere, `"claim":{`) || !strings.Contains(elsewhere, `"saleId":"`+other+`"`) {
			s.T.Errorf("%s in another sale of the group, want the sale and no claim", elsewhere)
		}
		return again
	},
	"413 BodyTooLarge": func(s *scene) Answer {
		most := s.operation.route.Operation.RequestBody.Value.Extensions["x-max-bytes"].(float64)
		s.body = strings.Repeat(" ", int(most)+1)
		return s.ask(door{})
	},
	"415 UnsupportedMediaType": func(s *scene) Answer {
		s.body, s.header = "{}", []string{"Content-Type", "text/plain"}
		return s.ask(door{})
	},
	"429 TooManyRequests": func(s *scene) Answer {
		api := s.front(door{api: s.api})
		answer := s.at(api)
		for n := 0; n < 1000 && answer.Status != http.StatusTooManyRequests; n++ {
			answer = s.at(api)
		}
		return answer
	},
	"503 Busy": func(s *scene) Answer { s.Throttles(); return s.ask(door{}) },

	"401 TokenRefused": func(s *scene) Answer { s.user = ""; return s.ask(door{}) },
	"403 TokenRefused": func(s *scene) Answer { return s.ask(door{scopes: []string{"orders"}}) },
}

// readsNothing are the refusals of a request for what it is, before anything is read.
var readsNothing = map[string]bool{
	"400 InvalidRequest": true, "401 Unauthorized": true, "403 Forbidden": true, "413 BodyTooLarge": true, "415 UnsupportedMediaType": true,
}

// anywhere is an outcome without its operation.
func anywhere(o Outcome) string { _, rest, _ := strings.Cut(o.String(), " "); return rest }

// sceneOf returns the scene of an outcome and its name, "" if there is none.
func sceneOf(api string, o Outcome) (name string, act func(*scene) Answer) {
	lists := []map[string]func(*scene) Answer{scenes}
	if api == Operators {
		lists = []map[string]func(*scene) Answer{operatorsScenes, scenes}
	}
	for _, list := range lists {
		for _, name := range []string{o.String(), anywhere(o)} {
			if list[name] != nil {
				return name, list[name]
			}
		}
	}
	return "", nil
}

func TestEveryOutcomeOfTheDocumentsHappens(t *testing.T) {
	used := map[string]bool{}
	for _, api := range []string{Buyers, Operators} {
		c := opened(t, api)
		operations := map[string]Operation{}
		for _, o := range c.Operations() {
			operations[o.ID] = o
		}
		for _, outcome := range c.Outcomes() {
			if outcome.Operation == elsewhere || outcome.Schema == "GatewayAnswer" {
				continue // API Gateway's own
			}
			t.Run(api+" "+outcome.String(), func(t *testing.T) {
				name, act := sceneOf(api, outcome)
				if act == nil {
					t.Fatal("no scene brings it about")
				}
				used[name] = true
				inWorld(t, func(w *world) {
					s := &scene{world: w, api: api, operation: operations[outcome.Operation], roles: []string{operatorRole, cashierRole}}
					s.user, s.path, s.body = s.buyer(), path(s.operation), bodies[s.operation.ID]
					var answer Answer
					calls := w.Calls(func() { answer = act(s) })
					if api == Buyers && readsNothing[anywhere(outcome)] && calls > 0 {
						w.T.Errorf("%s: the table was called %d times", outcome, calls)
					}
					got, err := c.Check(s.operation.Method, &url.URL{Path: s.path}, answer)
					if err != nil || got != outcome {
						w.T.Errorf("got %s (%v), want %s: %s", got, err, outcome, answer.Body)
					}
				})
			})
		}
	}
	for _, list := range []map[string]func(*scene) Answer{scenes, operatorsScenes} {
		for name := range list {
			if !used[name] {
				t.Errorf("%s: the documents have no such outcome", name)
			}
		}
	}
}

// opened returns a document, which is read once, so that all tests share its cache.
func opened(t testing.TB, api string) *Contract {
	t.Helper()
	c, err := opening[api]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var opening = map[string]func() (*Contract, error){
	Buyers:    sync.OnceValues(func() (*Contract, error) { return Open(Buyers) }),
	Operators: sync.OnceValues(func() (*Contract, error) { return Open(Operators) }),
}
