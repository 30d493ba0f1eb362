// Package shop is what a strategy of the lab knows of its world: the sale, the
// places it may store things, the user service it must ask, and the points of a
// purchase at which real life may interrupt it.
//
// It contains no engine, no scenario and no verdict, and it counts nothing: what
// was sold is read from the strategy's own store afterwards.
package shop

import (
	"context"
	"strings"
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
	// Postgres is a URL for pgx, with the lab's database.
	Postgres string `json:"postgres,omitempty"`
	// DynamoDB is the engine's URL and Table the ledger's name in it.
	DynamoDB string `json:"dynamodb,omitempty"`
	Table    string `json:"table,omitempty"`
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

// Host is a strategy's world inside one application server.
type Host struct {
	Place
	// Server is the application server's number, 0 for the first; Servers is how
	// many there were when the sale began. One that was added later has a number
	// of Servers or more.
	Server, Servers int
	// CheckUser asks the user service whether the user may buy. It is a remote
	// call and at a busy opening a slow one. Every strategy makes it once per
	// purchase, where the code it stands for makes it. Its error is the
	// context's or means that the service was not reached.
	CheckUser func(ctx context.Context, user string) error
	// At passes a point. It returns after whatever happens there, or never.
	At func(ctx context.Context, p Point)
}

type Outcome string

const (
	// Accepted: the buyer has an order.
	Accepted Outcome = "accepted"
	// AlreadyOrdered: the buyer has had an order before.
	AlreadyOrdered Outcome = "already-ordered"
	// SoldOut: there is nothing left, or fewer units than the buyer wants, or the sale has closed; the buyer goes home.
	SoldOut Outcome = "sold-out"
	// Busy: no decision was reached; the buyer clicks again.
	Busy Outcome = "busy"
)

// Strategy is one way to sell. It must be safe for concurrent use: an
// application server has one and lets all its requests call it.
//
// If it is an io.Closer, it is closed when its server is asked to stop.
type Strategy interface {
	// Buy tries to get the user's Units, all or none. An error means that nobody knows
	// what happened; the buyer sees a failed page and clicks again.
	Buy(ctx context.Context, user string) (Outcome, error)
}

// Backlogged is a strategy whose orders may follow the answer.
type Backlogged interface {
	// Backlog is how many orders are still to be written by this server, or by
	// anybody. An error means that it cannot be told now.
	Backlog(ctx context.Context) (int, error)
}

// Pair begins the name of a user who wants two units.
const Pair = "pair-"

// Units is how many units a user wants, and has with an order: two or one.
func Units(user string) int {
	if strings.HasPrefix(user, Pair) {
		return 2
	}
	return 1
}

// Order is one order as the durable store holds it.
type Order struct {
	User string
}

func OrdersOf(users []string) (orders []Order) {
	for _, user := range users {
		orders = append(orders, Order{user})
	}
	return orders
}

// Need is an engine that a strategy cannot run without.
type Need string

const (
	// Redis is one server, persisting as Debian's default configuration does.
	Redis Need = "redis"
	// RedisAlways is one server that syncs its append-only file with every write.
	RedisAlways Need = "redis-always"
	// RedisTrio is three such servers that know nothing of each other. One that died
	// comes back only when every lock that it knew has expired.
	RedisTrio Need = "redis-trio"
	// RedisPair is a primary with an asynchronous replica that takes its place
	// when it dies.
	RedisPair Need = "redis-pair"
	// MariaDB is one MariaDB (or MySQL) server with an empty database.
	MariaDB Need = "mariadb"
	// Postgres is one PostgreSQL server with an empty database.
	Postgres Need = "postgres"
	// DynamoDB is one dynoxide with an empty ledger table.
	DynamoDB Need = "dynamodb"
)

type Spec struct {
	// Name is unique, of a-z, 0-9 and '-'; Family groups rows.
	Name, Family string
	// Does says in one line how it decides; Flaw what is known to be wrong with
	// it, or "" for none.
	Does, Flaw string
	// Servers is how many application servers host it: 0 means 3.
	Servers int
	// Sticky routes a user's clicks to one server, chosen by the user's hash.
	// Otherwise each click goes to the next server in turn.
	Sticky bool
	// Pairs: it sells to pairs, too, and is in their scenarios only.
	Pairs bool
	Needs []Need
	// Prepare puts the stock where the strategy expects it. It runs once,
	// before any server starts; nil does nothing.
	Prepare func(ctx context.Context, p Place) error
	// Open makes the strategy, once in each application server's process, and
	// again in a server's successor after a kill. ctx bounds the opening only.
	Open func(ctx context.Context, h Host) (Strategy, error)
	// Orders reads every order of the sale from the durable store, after the
	// run or while nothing is being bought. It is called in the lab's own
	// process and may use nothing that an application server remembers.
	Orders func(ctx context.Context, p Place) ([]Order, error)
}

// DefaultServers is how many application servers host a strategy that does not
// say otherwise.
const DefaultServers = 3

// ServerCount is the number of application servers at the beginning.
func (s *Spec) ServerCount() int {
	if s.Servers == 0 {
		return DefaultServers
	}
	return s.Servers
}
