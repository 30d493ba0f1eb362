// Package template reads the project's SAM template and says what a local
// stack must run: functions, routes, authorizers, queues, tables, schedules.
//
// It knows SAM's and CloudFormation's rules (defaults, Globals, intrinsic
// functions, parameter constraints) and nothing about how anything is run.
// Only the properties that the local stack needs are resolved; whatever it
// would need and cannot resolve is an *Error with the line it stands on, so
// that the local stack never quietly differs from the deployed one.
package template
