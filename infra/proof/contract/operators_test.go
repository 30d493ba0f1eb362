package contract

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// operatorRole may change sales at the operators' API, cashierRole begin sendings.
const operatorRole, cashierRole = "flashsale-operator", "flashsale-cashier"

const sendIt = `{"id":"p1","asOf":"2026-01-01T00:00:00.000Z","count":1,"sums":{"CNY":129900},"payments":[{"saleId":"` + unpaid + `","payment":"stripe#pi_1"}]}`

const cancelIt = `{"id":"cancel-1","action":"cancel","orderId":"4294967297","expected":"CONFIRMED","unit":"back"}`

const pauseIt = `{"id":"pause-1","action":"pause","note":"the price is wrong"}`

// looking gives a change what is to be seen of that sale now.
func (s *scene) looking(saleID, text string) string {
	one, _, err := s.book.Standing(s.T.Context(), saleID)
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.TrimSuffix(text, "}") + `,"version":"` + one.Sale.ReadVersion().Text(saleID) + `"}`
}

// gets makes a change, whose answer must have that status and that text.
func (s *scene) gets(status int, text, body string) {
	if answer := s.changed(body); answer.Status != status || !strings.Contains(string(answer.Body), text) {
		s.T.Errorf("%s was answered %s", body, answer.Body)
	}
}

// asking makes the request with a query.
func (s *scene) asking(query string) Answer {
	defer func(path string) { s.path = path }(s.path)
	s.path += query
	return s.ask(door{})
}

// bodies are what operations are asked with.
var bodies = map[string]string{"change": pauseIt, "list": `{"list":"cGlfMQo="}`, "mark": `{"saleId":"` + open + `","payments":["stripe#pi_1"]}`, "create": `{"id":"c","action":"create","saleId":"lamp","opensAt":"2035-11-11T12:00:00Z","closesAt":"2035-11-11T14:00:00Z","stock":10}`, "repair": `{"action":"count","saleId":"` + open + `"}`,
	"send": sendIt, "stop": `{"id":"2026-01-01T00:00:00.000Z#p1"}`}

// listBody asks what a list means.
func listBody(text string) string {
	return `{"list":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
}

// changed makes changes, one after the other, and returns the answer to the last one.
func (s *scene) changed(bodies ...string) (last Answer) {
	for _, s.body = range bodies {
		last = s.ask(door{})
	}
	return last
}

// begun begins a sending that has met everything.
func (s *scene) begun() {
	now := time.Now()
	of := sale.Sending{ID: "2026-01-01T00:00:00.000Z#p1", AsOf: now, Count: 2, Sums: map[string]int64{"CNY": price}, Author: sale.Author{Actor: "kim", Note: "soles"}, Scope: sale.SendingScope{Group: group}}
	was, _, err := s.book.BeginSending(s.T.Context(), of)
	if err == nil {
		after := was
		after.SendingProgress = sale.SendingProgress{Taken: 1, Amounts: map[string]int64{"CNY": 1}, Left: 1, NextAt: now, Halted: map[string]sale.Halt{"stripe": {Code: "401", Words: "expired", At: now}}}
		_, err = s.book.SaveSending(s.T.Context(), was, after)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// operatorsScenes are those of outcomes that only the operators' document has, or that come
// about there in another way.
var operatorsScenes = map[string]func(s *scene) Answer{
	"sales 200 Sales":       func(s *scene) Answer { return s.ask(door{}) },
	"standing 200 Standing": func(s *scene) Answer { return s.on(recalled).ask(door{}) },
	"trail 200 Trail":       func(s *scene) Answer { return s.on(paused).ask(door{}) },
	"buyer 200 Buyer": func(s *scene) Answer {
		s.path = strings.Replace(s.path, "alice", s.buy(open).User, 1)
		return s.ask(door{})
	},
	"order 200 Buyer": func(s *scene) Answer {
		_, order := s.confirmedIn(open)
		s.path = "/operate/orders/" + orderid.String(order.ID)
		return s.ask(door{})
	},
	// One schema for all changes, of which each answers with members of its own.
	"change 200 ChangedSale": func(s *scene) Answer {
		opens := s.path
		s.on(unpaid).gets(200, `"payUntil"`, s.looking(unpaid, `{"id":"x","action":"extend","until":"`+httpapi.Time(time.Now().Add(time.Hour))+`"}`))
		s.path = opens
		for _, body := range []string{
			`{"id":"a","action":"add","stock":50}`, `{"id":"w","action":"withdraw","stock":5}`,
			`{"id":"d","action":"describe","about":"53 % vol.\nNumbered.","link":"https://shop.example/"}`,
		} {
			s.gets(200, "", s.looking(open, body))
		}
		_, order := s.confirmedIn(open)
		cancel := strings.Replace(cancelIt, "4294967297", orderid.String(order.ID), 1)
		s.gets(200, "", cancel)
		s.gets(409, "", strings.Replace(cancel, "cancel-1", "another", 1))
		return s.changed(`{"id":"r","action":"recall","note":"the soles come off"}`)
	},
	"change 409 ConflictingRequest": func(s *scene) Answer {
		return s.changed(pauseIt, s.looking(open, strings.Replace(pauseIt, `"pause"`, `"resume"`, 1)))
	},
	"change 409 ChangedMeanwhile": func(s *scene) Answer {
		return s.changed(pauseIt, `{"id":"r","action":"resume","version":"`+sale.ReadVersion{}.Text(open)+`"}`)
	},
	"change 404 OrderNotFound": func(s *scene) Answer { return s.changed(cancelIt) },
	"change 410 RecalledSale": func(s *scene) Answer {
		s.on(recalled)
		return s.changed(s.looking(recalled, `{"id":"r","action":"resume"}`))
	},
	"sales 404 GroupNotFound": func(s *scene) Answer { return s.asking("?group=nothing") },
	"refunds 200 Refunds": func(s *scene) Answer {
		s.refunded()
		s.user = "kim"
		due, err := s.book.Refunds(s.T.Context(), unpaid)
		if err == nil {
			_, _, err = s.book.TakeRefund(s.T.Context(), due[0], &sale.Sending{ID: "2026-01-01T00:00:00.000Z#p1"}, "live")
		}
		if err != nil {
			s.T.Fatal(err)
		}
		return s.asking("?saleId=" + unpaid)
	},
	"mark 200 Marks": func(s *scene) Answer {
		id := s.refunded()
		s.user, s.body = "kim", fmt.Sprintf(`{"payments":["stripe#pi_%d 1","stripe#pi_%d 2","stripe#pi_%d 2","pi_9"]}`, id, id, id)
		return s.ask(door{})
	},
	"refunds 404 SaleNotFound": func(s *scene) Answer { return s.asking("?saleId=nothing") },
	"list 200 List": func(s *scene) Answer {
		id := s.refunded()
		text := fmt.Sprintf("payment_intent_id,reporting_category,gross,currency\npi_%d 1,refund,1,cny\npi_%d 2,refund,1,cny\nx,refund,1,cny\npi_%d 2,charge,1,cny\n", id, id, id)
		s.user, s.body = "kim", listBody("PSP Reference,Amount\n")
		s.gets(200, `"missing":["type"`, s.body)
		return s.changed(listBody(text))
	},
	"list 404 SaleNotFound":  func(s *scene) Answer { return s.changed(`{"list":"","saleId":"nothing"}`) },
	"list 404 GroupNotFound": func(s *scene) Answer { return s.changed(`{"list":"","group":"nothing"}`) },
	"send 200 SendingIs":     func(s *scene) Answer { return s.ask(door{}) },
	"send 404 SaleNotFound": func(s *scene) Answer {
		return s.changed(strings.Replace(sendIt, `"payments":[{"saleId":"`+unpaid+`","payment":"stripe#pi_1"}]`, `"saleId":"nothing"`, 1))
	},
	"send 404 GroupNotFound": func(s *scene) Answer {
		return s.changed(strings.Replace(sendIt, `"payments":[{"saleId":"`+unpaid+`","payment":"stripe#pi_1"}]`, `"group":"nothing"`, 1))
	},
	"send 409 ConflictingRequest": func(s *scene) Answer { return s.changed(sendIt, strings.Replace(sendIt, "129900", "1", 1)) },
	"sendings 200 Sendings":       func(s *scene) Answer { s.begun(); return s.ask(door{}) },
	"stop 200 SendingIs":          func(s *scene) Answer { s.begun(); return s.ask(door{}) },
	"mark 404 SaleNotFound": func(s *scene) Answer {
		s.body = `{"saleId":"nothing","payments":["stripe#pi_1"]}`
		return s.ask(door{})
	},
	"403 Forbidden":      func(s *scene) Answer { s.roles = []string{"admins"}; return s.ask(door{}) },
	"400 InvalidRequest": func(s *scene) Answer { s.user = "a\nb"; return s.ask(door{}) },
	"asset 200 File":     func(s *scene) Answer { s.path = "/assets/operate.js"; return s.ask(door{}) },
	"asset 302":          func(s *scene) Answer { s.path = "/assets/operate.0123456789abcdef.js"; return s.ask(door{}) },
	"health 200 Health": func(s *scene) Answer {
		s.around.down = true // all but the table's signs are unknown
		s.gets(200, `"level":"unknown"`, "")
		s.around.down = false
		return s.ask(door{})
	},
	"repair 200 Repair":       func(s *scene) Answer { return s.ask(door{}) },
	"repair 404 SaleNotFound": func(s *scene) Answer { s.body = `{"action":"count","saleId":"none"}`; return s.ask(door{}) },
	"repair 500 Internal":     func(s *scene) Answer { s.around.down = true; return s.ask(door{}) },
	"repair 503 Busy":         func(s *scene) Answer { s.around.busy = true; return s.ask(door{}) },
	"create 200 ChangedSale":  func(s *scene) Answer { return s.ask(door{}) },
	"create 409 ConflictingRequest": func(s *scene) Answer {
		return s.changed(s.body, strings.Replace(s.body, `"stock":10`, `"stock":11`, 1))
	},
	"purchases 200 Purchases": func(s *scene) Answer { return s.ask(door{}) },
	"purchases 503 Busy":      func(s *scene) Answer { s.around.down = true; return s.ask(door{}) },
}
