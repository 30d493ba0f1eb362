// Package stack boots template.yaml on this machine: it reads what the template
// describes and starts the pieces that play API Gateway, Lambda, DynamoDB, SQS
// and EventBridge Scheduler, each its own package.
//
// It only wires the pieces together. Routes, batch sizes, schedules and
// environment variables come from the template.
package stack
