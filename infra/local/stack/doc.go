// Package stack boots template.yaml on this machine: it reads what the template
// describes and starts the pieces that play API Gateway, Lambda, DynamoDB, SQS
// and EventBridge Scheduler, each its own package.
//
// A line in here knows which piece plays which part and how they are wired. It
// knows no protocol and no business: routes, batch sizes, schedules and
// environment variables come from the template.
package stack
