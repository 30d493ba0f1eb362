// Package lambda is AWS Lambda on one machine: it runs the functions' real
// bootstrap programs as processes, each against a Lambda Runtime API of its
// own, and answers Lambda's Invoke API.
//
// A process gets one event at a time, stays warm for the next one, and is
// killed at the function's timeout, as an execution environment is. What
// differs from AWS: a caller beyond a function's concurrency waits in line
// instead of being throttled, and an idle process is neither frozen nor ended.
//
// It knows Lambda's protocols, limits and error texts, not what any function
// does or which events it gets.
package lambda
