package shop

import (
	"context"
	"time"
)

// LockTTL is how long a lock is held before it expires by itself: the ten
// seconds of the incident, scaled down. A user check at a slow opening takes
// longer, as it did then.
const LockTTL = 200 * time.Millisecond

// Place is the sale and everything that a strategy may reach. It is handed to
// every application server as JSON.
type Place struct {
	// Sale is the sale's id, different in every run, of A-Z, a-z, 0-9 and '-'.
	Sale string `json:"sale"`
	// Stock is how many units there are, at least 1.
	Stock int `json:"stock"`
	// Dir is a folder that all servers share and that survives them.
	Dir string `json:"dir"`
	// Redis are the servers' addresses, host:port. Of a pair it is the address
	// that leads to whichever is the primary.
	Redis []string `json:"redis,omitempty"`
	// MariaDB is a data source name for go-sql-driver, with the lab's database.
	MariaDB string `json:"mariadb,omitempty"`
	// DynamoDB is the engine's URL and Table the ledger's name in it.
	DynamoDB string `json:"dynamodb,omitempty"`
	Table    string `json:"table,omitempty"`
	// API is the URL of the stack's HTTP API, Lambda that of its Invoke API.
	API    string `json:"api,omitempty"`
	Lambda string `json:"lambda,omitempty"`
}

// Point is a place in a purchase at which real life may interrupt: the network
// is slow, the garbage collector runs, the process dies. A strategy passes the
// points that it has; one that leaves a step to its engine has no point there.
type Point string

const (
	// Locked: the lock is held.
	Locked Point = "locked"
	// Read: the stock was read and will be decided on, and is not yet written.
	Read Point = "read"
	// Taken: a unit was taken and its order is not yet recorded.
	Taken Point = "taken"
	// Recorded: the order is durable and the buyer does not know.
	Recorded Point = "recorded"
	// Queued: the buyer was told yes and the order waits in this process's
	// memory to be written.
	Queued Point = "queued"
)

// Points are all of them.
func Points() []Point { return []Point{Locked, Read, Taken, Recorded, Queued} }

// Host is a strategy's world inside one application server.
type Host struct {
	Place
	// Server is the application server's number, 0 for the first; Servers is how
	// many there were when the sale began. One that was added later has a number
	// of Servers or more.
	Server, Servers int
	// Now is this server's wall clock, which may be wrong.
	Now func() time.Time
	// CheckUser asks the user service whether the user may buy. It is a remote
	// call and at a busy opening a slow one. Every strategy makes it once per
	// purchase, where the code it stands for makes it. Its error is the
	// context's or means that the service was not reached.
	CheckUser func(ctx context.Context, user string) error
	// At passes a point. It returns after whatever happens there, or never.
	At func(ctx context.Context, p Point)
}
