// Package scheduler does what EventBridge Scheduler does for a template's
// ScheduleV2 events: it reads at(), rate() and cron() expressions in their time
// zones, invokes a function when one is due, and repeats invocations that fail.
//
// It knows when to invoke and with which payload, not how a function is run.
package scheduler
