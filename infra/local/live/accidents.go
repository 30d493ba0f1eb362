package live

import "time"

// Injection is what goes wrong in the system during an accident.
type Injection struct {
	// Faults are what the calls of the Functions to DynamoDB and SQS meet, in the syntax
	// of package faults; no Functions means all.
	Faults    string
	Functions []string
	// Kill is the share of the functions' answers at which their process is killed.
	Kill float64
	// Crash kills the database once.
	Crash bool
	// BusDown: the event bus accepts nothing.
	BusDown bool
}

// accident is one button of "break something".
type accident struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Expect    string `json:"expect"`
	injection Injection
}

// once reports whether the accident is over as soon as it has happened.
func (a *accident) once() bool { return a.injection.Crash }

var accidents = []accident{
	{"refuse", "DynamoDB refuses a third of the calls",
		"Purchases take longer and some buyers are told \u201cbusy\u201d; they try again, and no unit is lost or sold twice.",
		Injection{Faults: "conflict=0.2,throttle=0.1,error=0.05,seed=1"}},
	{"lose", "Answers get lost after the commit",
		"A buyer whose answer is lost is told \u201cbusy\u201d, never \u201cno\u201d; the next try finds the unit they already hold.",
		Injection{Faults: "lost=0.3,late=0.1,lateby=2s,seed=1"}},
	{"unsent", "The queue accepts no messages",
		"Purchases still succeed, but many orders stay pending; half a minute to two minutes later, reconcile sends what is missing.",
		Injection{Faults: "send=1,seed=1", Functions: []string{"PurchaseFunction"}}},
	{"unconfirmed", "Orders cannot be confirmed",
		"Units are still sold, but orders stay pending and their messages wait in the queue for another delivery; heal to see them confirmed.",
		Injection{Faults: "error=1,seed=1", Functions: []string{"FinalizeFunction"}}},
	{"kill", "A third of the processes die as they answer",
		"The work is done, but its answer is lost: buyers try again, messages are delivered again, and neither counts twice.",
		Injection{Kill: 0.33}},
	{"bus", "The event bus is down",
		"Orders go on as before, but nobody else is told; heal to see the same events arrive, none missing.",
		Injection{BusDown: true}},
	{"crash", "The database crashes",
		"It is killed and restarts on its file: purchases fail for a moment, and everything that was accepted is still there.",
		Injection{Crash: true}},
}

func findAccident(id string) *accident {
	for i := range accidents {
		if accidents[i].ID == id {
			return &accidents[i]
		}
	}
	return nil
}

type broken struct {
	accident
	Since time.Time      `json:"since"`
	Met   map[string]int `json:"met"`
}
