// Package scheduler implements EventBridge Scheduler for a template's ScheduleV2
// events: it reads at(), rate() and cron() expressions in their time zones, invokes a
// function when one is due, and retries invocations that fail.
//
// It decides when to invoke and with which payload; it does not run functions.
package scheduler
