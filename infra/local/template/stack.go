package template

import "time"

// Stack is what a template describes, reduced to what runs on one machine.
type Stack struct {
	Parameters map[string]string
	// Functions is sorted by logical id.
	Functions []Function
	// API is the template's HTTP API; its LogicalID is empty when there is none.
	API API
	// Operators is the HTTP API that is made of API Gateway's own resources; its LogicalID is
	// empty when there is none.
	Operators API
	Tables    []Table
	// Queues has dead-letter queues before the queues that use them.
	Queues []Queue
	Buses  []string
}

// Function is one AWS::Serverless::Function with its Globals merged in.
type Function struct {
	LogicalID string
	// Environment is the template's; it does not include the variables that Lambda
	// adds.
	Environment map[string]string
	Timeout     time.Duration
	MemoryMB    int
	// ReservedConcurrency is 0 if nothing is reserved.
	ReservedConcurrency int
	Queues              []QueueSource
	Streams             []StreamSource
	Schedules           []Schedule
}

// API is an HTTP API of the template.
type API struct {
	LogicalID   string
	Authorizers map[string]Authorizer
	Routes      []Route
	// CORS is nil when the API answers no preflight requests.
	CORS *CORS
}

type Authorizer struct {
	Issuer   string   `json:"issuer"`
	Audience []string `json:"audience"`
}

type CORS struct {
	AllowOrigins  []string
	AllowMethods  []string
	AllowHeaders  []string
	ExposeHeaders []string
	MaxAge        time.Duration
}

type Throttle struct {
	PerSecond float64 `json:"ThrottlingRateLimit,string"`
	Burst     int     `json:"ThrottlingBurstLimit,string"`
}

// Route is one method and path of the API.
type Route struct {
	// Function is the logical id of the function that answers.
	Function string
	Method   string
	// Path may hold {name} segments.
	Path string
	// Authorizer is a key of API.Authorizers, or empty for a public route.
	Authorizer string
	// Scopes lists OAuth scopes, of which a token needs at least one; empty requires
	// none.
	Scopes []string
	// Throttle is the route's own setting, or else the API's default; zero values mean
	// that none is set.
	Throttle Throttle
}

// QueueSource is a queue whose messages a function receives in batches.
type QueueSource struct {
	Queue     string // its name
	BatchSize int
	// Window is how long a batch may wait to fill.
	Window time.Duration
	// MaximumConcurrency is 0 when it is not limited.
	MaximumConcurrency int
}

// StreamSource is a table's stream whose records a function receives in batches, in the
// order of each item's changes. A failed batch is repeated until its records expire.
type StreamSource struct {
	Table     string // its name
	BatchSize int
	// Filters are patterns of package eventpattern, of which a record must match one;
	// without any, all records count.
	Filters []string
}

// Schedule is an EventBridge Scheduler schedule that invokes a function.
type Schedule struct {
	// Name is the logical id that SAM gives the schedule: the function's and the event's.
	Name       string
	Expression string // in UTC
	Enabled    bool
	// Input is the payload before its context attributes are replaced; empty when not set.
	Input         string
	RetryAttempts int
	MaxEventAge   time.Duration
}

// Table is one AWS::DynamoDB::Table.
type Table struct {
	Name                 string
	KeySchema            []Key
	AttributeDefinitions []Attribute
	// StreamView is the stream's view type, such as NEW_AND_OLD_IMAGES; empty if the table
	// has no stream.
	StreamView string
}

// Key is one element of a table's primary key.
type Key struct {
	Name string `json:"AttributeName"`
	// Type is HASH or RANGE.
	Type string `json:"KeyType"`
}

type Attribute struct {
	Name string `json:"AttributeName"`
	// Type is S, N or B.
	Type string `json:"AttributeType"`
}

// Queue is one AWS::SQS::Queue, always a standard queue.
type Queue struct {
	Name string
	// Attributes are CreateQueue's; only those that the template sets.
	Attributes map[string]string
}
