package stack

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func TestAnAlarmIsTheStacksOrOfItsNestedOnes(t *testing.T) {
	for _, name := range []string{"ORDER_QUEUE_URL", "DEAD_LETTER_QUEUE_URL", "SCHEDULE_QUEUE_URL", "RECONCILE_FUNCTION"} {
		if s, err := FromEnv(aws.Config{}); err == nil {
			t.Errorf("without %s there is a stack: %v", name, s)
		}
		t.Setenv(name, "x")
	}
	t.Setenv("STACK_NAME", "flashsale-dev")
	s, err := FromEnv(aws.Config{})
	if err != nil || s.Has(DeadEvents) || !s.Has(DeadSchedules) {
		t.Fatal(s, err)
	}
	for name, want := range map[string]string{
		"flashsale-dev-FunctionErrorsAlarm-1A2b3C": "FunctionErrorsAlarm", "flashsale-dev-Alarms-1A2B3C-OldestPendingAlarm-9z": "OldestPendingAlarm",
		"flashsale-dev-Front-X-FrontBlocksAlarm-Y": "FrontBlocksAlarm",
		"flashsale-dev-2-FunctionErrorsAlarm-X":    "", "flashsale-dev-2-Alarms-X-OldestPendingAlarm-Y": "", "flashsale-dev-Alarms-X": "", "flashsale-development-FunctionErrorsAlarm-X": "",
	} {
		found := ""
		if m := s.alarm.FindStringSubmatch(name); m != nil {
			found = m[1]
		}
		if found != want {
			t.Errorf("%s is %q, want %q", name, found, want)
		}
	}
}
