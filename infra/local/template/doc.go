// Package template reads the project's SAM template and returns what a local stack must
// run: functions, routes, authorizers, queues, tables and their streams, schedules, event buses.
//
// It implements SAM's and CloudFormation's rules (defaults, Globals, intrinsic
// functions, parameter constraints) and runs nothing. Only the properties that the
// local stack needs are resolved; a needed property that cannot be resolved is an
// *Error with its line, so that the local stack never silently differs from the
// deployed one.
package template
