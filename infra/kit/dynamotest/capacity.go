package dynamotest

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	writeUnit = 1 << 10 // bytes of one write unit
	readUnit  = 4 << 10 // bytes of one read unit
	// transactional is how much more a transaction costs: it prepares and
	// commits.
	transactional = 2
)

// usage counts calls and capacity; guarded by DB.mu.
type usage struct {
	calls       map[string]int
	write, read float64
}

func noUsage() usage { return usage{calls: map[string]int{}} }

// Calls are the calls of each operation since New or ResetUsage, refused and
// lost ones included.
func (db *DB) Calls() map[string]int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return maps.Clone(db.usage.calls)
}

// Consumed is the capacity used since New or ResetUsage, as AWS bills it. A
// write whose condition fails costs like one that succeeds. AWS does not say
// what a cancelled transaction costs: here as much as a committed one, the
// higher of the figures seen. What was throttled costs nothing.
func (db *DB) Consumed() (writeUnits, readUnits float64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.usage.write, db.usage.read
}

// ResetUsage sets the counts of Calls and Consumed to zero. Call.N counts on.
func (db *DB) ResetUsage() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.usage = noUsage()
}

// units is size in started units, at least one.
func units(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// writeUnits is the cost of a plain write that makes one version of an item another one.
func writeUnits(old, it version) float64 { return units(max(old.size, it.size), writeUnit) }

// readUnits is the cost of reading size bytes in one request.
func readUnits(size int, consistent bool) float64 {
	n := units(size, readUnit)
	if !consistent {
		return n / 2
	}
	return n
}

// bill adds to the usage. db.mu is held.
func (db *DB) bill(write, read float64) {
	db.usage.write += write
	db.usage.read += read
}

// consumed is an answer's ConsumedCapacity, nil if the request did not ask.
func (db *DB) consumed(asked types.ReturnConsumedCapacity, units float64) *types.ConsumedCapacity {
	if asked != types.ReturnConsumedCapacityTotal {
		return nil
	}
	return &types.ConsumedCapacity{TableName: &db.table.Name, CapacityUnits: &units}
}
