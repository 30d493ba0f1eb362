package alarms

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

func TestAFunctionThatFailsRingsForThreeMinutesAndFinalizeLouder(t *testing.T) {
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	began := now
	a := New("flashsale", func() time.Time { return now })
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client := cloudwatch.New(cloudwatch.Options{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	for _, step := range []struct {
		after  time.Duration
		failed []string
		want   []string
	}{
		{0, nil, nil},
		{0, []string{"FinalizeFunction", "SeedFunction"}, []string{"flashsale-FunctionErrorsAlarm-LOCAL"}},
		{time.Minute, []string{"FinalizeFunction", "DrawFunction"}, []string{"flashsale-DrawErrorsAlarm-LOCAL", "flashsale-FinalizeFailingAlarm-LOCAL", "flashsale-FunctionErrorsAlarm-LOCAL"}},
		{3*time.Minute + 1, nil, nil},
	} {
		now = now.Add(step.after)
		for _, function := range step.failed {
			a.Failed(function)
		}
		out, err := client.DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{StateValue: types.StateValueAlarm})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range out.MetricAlarms {
			got = append(got, *one.AlarmName)
			if since := aws.ToTime(one.StateUpdatedTimestamp); one.StateValue != types.StateValueAlarm || since.Before(began) || since.After(now) {
				t.Errorf("%s rings %s since %v", *one.AlarmName, one.StateValue, since)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: got %q, want %q", fmt.Sprint(step.after), got, step.want)
		}
	}
}

// Fewer than five, or one purchase in twenty-one, are no alarm.
func TestPurchasesThatFailAndLateDrawsRingByWhatIsLogged(t *testing.T) {
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	a := New("flashsale", func() time.Time { return now })
	log := func(n int, line string) {
		for range n {
			_, _ = a.Write([]byte("F | {" + line + "}\n"))
		}
	}
	want := func(names ...string) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(a.ringing())); !slices.Equal(got, names) {
			t.Errorf("%q ring, want %q", got, names)
		}
	}
	log(4, `"result":"busy","purchases":1`)
	log(1, `"diceLateSeconds":299,"callLateSeconds":0,"x":1`)
	want()
	log(1, `"result":"internal","purchases":1`)
	log(1, `"diceLateSeconds":300,"callLateSeconds":180,"x":1`)
	want("CallLateAlarm", "DiceLateAlarm", "PurchasesFailingAlarm")
	log(96, `"result":"accepted","purchases":1`)
	want("CallLateAlarm", "DiceLateAlarm")
	now = now.Add(window + time.Second)
	want()
}
