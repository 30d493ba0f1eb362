// Package lambda is AWS Lambda on one machine: it runs the functions' real
// bootstrap programs as processes, each against a Lambda Runtime API of its
// own, and answers Lambda's Invoke API.
//
// A process gets one event at a time, stays warm for the next one, and is killed at the
// function's timeout, as an execution environment is. Differences from AWS: a caller
// waits for a process, up to the concurrency limit, instead of getting a new
// environment, and an idle process is neither frozen nor ended.
//
// It implements Lambda's protocols, limits and error texts, regardless of the functions
// and their events.
package lambda
