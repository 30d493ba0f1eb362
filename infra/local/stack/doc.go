// Package stack boots template.yaml on this machine: it reads the template and starts
// the local replacements of API Gateway, Lambda, DynamoDB and its streams, SQS, EventBridge
// and EventBridge Scheduler, each in its own package.
//
// It only wires these parts together. Routes, batch sizes, schedules and environment
// variables come from the template.
package stack
