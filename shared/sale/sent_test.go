package sale

import (
	"strings"
	"testing"
	"time"
)

func TestWhatASendingDoesWithARefund(t *testing.T) {
	now := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	s := Sending{ID: "ours", AsOf: now.Add(-time.Hour)}
	later := Sending{ID: "ours", AsOf: s.AsOf, SendingProgress: SendingProgress{Round: 1}}
	last := Sending{ID: "ours", AsOf: s.AsOf, SendingProgress: SendingProgress{Round: 2}}
	due := func(provider string, changes ...func(*Refund)) Refund {
		r := Refund{Payment: provider + "#1", Amount: 100, Currency: "CNY", At: s.AsOf}
		for _, change := range changes {
			change(&r)
		}
		return r
	}
	sent := func(state SentState, by string, ago time.Duration) func(*Refund) {
		return func(r *Refund) { r.Sent = Sent{State: state, By: by, At: now.Add(-ago), Lease: now} }
	}
	leased := func(r *Refund) { r.Sent.Lease = now.Add(1) }
	disputed := func(r *Refund) { r.Disputed = DisputeOpen }
	part := func(r *Refund) { r.Back = 1 }
	for name, tt := range map[string]struct {
		r           Refund
		step, later SendStep
	}{
		"it is due":                       {due("stripe"), SendNew, SendNothing},
		"of a provider that cannot":       {due("standard-webhooks"), SendNothing, SendNothing},
		"of nothing":                      {due("stripe", func(r *Refund) { r.Amount = 0 }), SendNothing, SendNothing},
		"of no currency":                  {due("stripe", func(r *Refund) { r.Currency = "XXX" }), SendNothing, SendNothing},
		"it is back":                      {due("stripe", func(r *Refund) { r.RefundedAt = now }), SendNothing, SendNothing},
		"a part is back":                  {due("stripe", part), SendNothing, SendNothing},
		"it is disputed":                  {due("stripe", disputed), SendNothing, SendNothing},
		"it is stuck":                     {due("wechat-pay", func(r *Refund) { r.Stuck = true }), SendNothing, SendNothing},
		"due since then":                  {due("stripe", func(r *Refund) { r.At = s.AsOf.Add(1) }), SendNothing, SendNothing},
		"due again since then":            {due("stripe", func(r *Refund) { r.Again = s.AsOf.Add(1) }), SendNothing, SendNothing},
		"accepted":                        {due("stripe", sent(SentAccepted, "another", time.Hour)), SendNothing, SendNothing},
		"refused before":                  {due("stripe", sent(SentRefused, "another", time.Hour)), SendNew, SendNothing},
		"refused now":                     {due("stripe", sent(SentRefused, "ours", time.Hour)), SendNothing, SendNothing},
		"freed":                           {due("stripe", sent("", "ours", time.Hour)), SendAgain, SendAgain},
		"freed, and disputed":             {due("stripe", sent("", "ours", time.Hour), disputed), SendNothing, SendNothing},
		"unknown":                         {due("stripe", sent(SentUnknown, "ours", time.Hour)), SendAgain, SendAgain},
		"unknown, another's":              {due("stripe", sent(SentUnknown, "another", time.Hour)), SendNew, SendNew},
		"unknown, a later press's":        {due("stripe", sent(SentUnknown, "overs", time.Hour)), SendNothing, SendNothing},
		"unknown, another's, under way":   {due("stripe", sent(SentUnknown, "another", time.Hour), leased), SendLater, SendLater},
		"unknown, under way":              {due("stripe", sent(SentUnknown, "ours", time.Hour), leased), SendLater, SendLater},
		"unknown, its key's life is over": {due("stripe", sent(SentUnknown, "ours", 23*time.Hour)), SendAsk, SendAsk},
		"unknown, and disputed":           {due("stripe", sent(SentUnknown, "ours", time.Hour), disputed), SendAsk, SendAsk},
		"unknown, and a part is back":     {due("alipay", sent(SentUnknown, "ours", time.Hour), part), SendAsk, SendAsk},
		"unknown for ever":                {due("alipay", sent(SentUnknown, "ours", 9999*time.Hour)), SendAgain, SendAgain},
		"unknown where nobody can ask":    {due("adyen", sent(SentUnknown, "ours", 720*time.Hour)), SendNothing, SendNothing},
		"unknown there for less":          {due("adyen", sent(SentUnknown, "ours", 719*time.Hour)), SendAgain, SendAgain},
		"unknown there, and disputed":     {due("adyen", sent(SentUnknown, "ours", time.Hour), disputed), SendNothing, SendNothing},
	} {
		if got := tt.r.Step(&s, now); got != tt.step {
			t.Errorf("%s: got step %d, want %d", name, got, tt.step)
		}
		if got := tt.r.Step(&later, now); got != tt.later {
			t.Errorf("%s, in a later round: got step %d, want %d", name, got, tt.later)
		}
		if got := tt.r.Step(&last, now); tt.r.Sent.By == "another" && got != SendNothing {
			t.Errorf("%s, in the round after that: got step %d, want nothing", name, got)
		}
	}
}

func TestASendingTakesAtMostWhatItsOperatorHasSeen(t *testing.T) {
	s := Sending{Count: 2, Sums: map[string]int64{"CNY": 300}, SendingProgress: SendingProgress{Taken: 1, Amounts: map[string]int64{"CNY": 100}}}
	for r, want := range map[Refund]bool{
		{Amount: 200, Currency: "CNY"}: true, {Amount: 201, Currency: "CNY"}: false, {Amount: 1, Currency: "USD"}: false,
	} {
		if got := s.Allows(&r); got != want {
			t.Errorf("%d %s: got %t, want %t", r.Amount, r.Currency, got, want)
		}
	}
	if s.Taken = 2; s.Allows(&Refund{Amount: 1, Currency: "CNY"}) {
		t.Error("it takes more refunds than were seen")
	}
}

func TestAPressIsRefusedUnlessItSaysWhatWasSeen(t *testing.T) {
	now := time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)
	for want, change := range map[string]func(*Sending){
		"":          func(*Sending) {},
		"payments ": func(s *Sending) { s.Scope.Payments = make([]SalePayment, 101) },
		"the scope": func(s *Sending) { s.Scope = SendingScope{SaleID: "a", Group: "b"} },
		"saleId":    func(s *Sending) { s.Scope.SaleID = "a b" },
		"group":     func(s *Sending) { s.Scope.Group = "a#b" },
		"id must":   func(s *Sending) { s.ID = SendingID(now, "a#b") },
		"asOf":      func(s *Sending) { s.AsOf = now.Add(-time.Hour - 1) },
		"asOf must": func(s *Sending) { s.AsOf = now.Add(time.Minute + 1) },
		"count and": func(s *Sending) { s.Count = 0 },
		"count":     func(s *Sending) { s.Count = 1 << 62 },
		"sums must": func(s *Sending) { s.Sums = map[string]int64{"CNY": 0} },
		"sums":      func(s *Sending) { s.Sums = map[string]int64{"Yuan": 1} },
		"nobody":    func(s *Sending) { s.Actor = "" },
		"note":      func(s *Sending) { s.Note = strings.Repeat("a", 501) },
		"provider":  func(s *Sending) { s.Scope.Payments = []SalePayment{{"a", "#"}} },
		"reference": func(s *Sending) { s.Scope.Payments = []SalePayment{{"a", "stripe#"}} },
	} {
		s := Sending{ID: SendingID(now, "press"), AsOf: now, Count: 1, Sums: map[string]int64{"CNY": 100}, Author: Author{Actor: "kim"}}
		if change(&s); len(s.Scope.Payments) == 101 {
			for i := range s.Scope.Payments {
				s.Scope.Payments[i].Payment = "stripe#1"
			}
		}
		if err := s.Check(now); (err == nil) != (want == "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
