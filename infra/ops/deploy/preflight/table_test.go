package preflight

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"flashsale/infra/ops/deploy/demand"
)

const (
	restored       = "shop-restored"
	restoredStream = "arn:aws:dynamodb:us-east-1:123456789012:table/shop-restored/stream/2026-11-11T12:00:00.000"
)

// tables are the streams that checked tables must have.
type tables map[string]string

func (t tables) Check(_ context.Context, table, stream string) error {
	if want, ok := t[table]; !ok || want != stream {
		return fmt.Errorf("table %s with stream %q", table, stream)
	}
	return nil
}

func TestAnExistingTableIsCheckedBeforeItIsUsed(t *testing.T) {
	own := map[string]string{"ExistingTable": ""}
	using := map[string]string{"ExistingTable": restored}
	for _, tt := range []struct {
		name       string
		deployed   map[string]string
		parameters map[string]string
		want       Verdict // empty: no finding
		says       string
	}{
		{"none", own, map[string]string{}, "", ""},
		{"a table that is taken over", own, map[string]string{"ExistingTable": restored, "DeploymentType": "AllAtOnce"}, Warning, "the functions use shop-restored"},
		{"the same table again", using, map[string]string{"ExistingTable": restored, "DeploymentType": "Canary10Percent5Minutes"}, OK, restored},
		{"with its stream", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream, "PublishEvents": "true"}, OK, restored},
		{"a stream that nobody reads", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream}, OK, restored},
		{"another table's stream", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": strings.Replace(restoredStream, "restored", "Ledger-1", 1), "PublishEvents": "true"}, Failed, "is the stream of another table"},
		{"a table whose name only begins like it", using, map[string]string{"ExistingTable": "shop", "ExistingTableStreamArn": restoredStream, "PublishEvents": "true"}, Failed, "is the stream of another table"},
		{"another stream of the table", using, map[string]string{"ExistingTable": restored, "ExistingTableStreamArn": restoredStream + "1", "PublishEvents": "true"}, Failed, "with stream"},
		{"a stream without a table", own, map[string]string{"ExistingTableStreamArn": restoredStream}, Warning, "unused"},
		{"a table that is not there", using, map[string]string{"ExistingTable": "none"}, Failed, "table none"},
		{"a canary onto another table", own, map[string]string{"ExistingTable": restored, "DeploymentType": "Canary10Percent5Minutes"}, Failed, "two tables at a time"},
		{"back to a new, empty table", using, map[string]string{"ExistingTable": "", "DeploymentType": "AllAtOnce"}, Failed, "set ExistingTable=shop-restored"},
		{"capacity that does not reach it", using, map[string]string{"ExistingTable": restored, "MaxWriteRequestUnits": "4000"}, Warning, "has no effect on shop-restored"},
	} {
		d := sound()
		stream := ""
		if tt.parameters["PublishEvents"] == "true" {
			stream = restoredStream
		}
		d.Tables = tables{restored: stream}
		d.Account.(*account).limits.Parameters = tt.deployed
		for name, value := range tt.parameters {
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: name, Value: value})
		}
		var worst Verdict
		var says []string
		for _, f := range Run(t.Context(), d) {
			if f.Check != "existing table" {
				continue
			}
			if says = append(says, f.Says); f.Verdict == Failed || worst != Failed && (worst == "" || f.Verdict == Warning) {
				worst = f.Verdict
			}
		}
		if worst != tt.want || !strings.Contains(strings.Join(says, "\n"), tt.says) {
			t.Errorf("%s: %q, %q; want %q, %q", tt.name, worst, says, tt.want, tt.says)
		}
	}
}

func TestAFirstDeploymentMayUseAnExistingTable(t *testing.T) {
	d := sound()
	d.Tables = tables{restored: ""}
	d.Account.(*account).limits.Status = ""
	d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "ExistingTable", Value: restored}, demand.Parameter{Name: "DeploymentType", Value: "Canary10Percent5Minutes"})
	if got := failed(Run(t.Context(), d)); got != "" {
		t.Errorf("failed:\n%s", got)
	}
}

func TestARestoredTableThatIsNotReadyIsRefused(t *testing.T) {
	const ready = `"TableStatus":"ACTIVE","DeletionProtectionEnabled":true,"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
		"LatestStreamArn":"` + restoredStream + `","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}`
	for _, tt := range []struct{ name, table, stream, says string }{
		{"ready", ready, restoredStream, ""},
		{"ready, and its stream is not read", strings.Replace(ready, "NEW_AND_OLD_IMAGES", "KEYS_ONLY", 1), "", ""},
		{"while it is restored", strings.Replace(ready, "ACTIVE", "CREATING", 1), "", "wait until it is ACTIVE"},
		{"without deletion protection", strings.Replace(ready, `"DeletionProtectionEnabled":true`, `"DeletionProtectionEnabled":false`, 1), "", "--deletion-protection-enabled"},
		{"another kind of table", strings.Replace(ready, `"sk"`, `"id"`, 1), "", "its key is pk HASH, id RANGE"},
		{"with another stream", ready, restoredStream + "1", "its stream is"},
		{"with a stream of one image", strings.Replace(ready, "NEW_AND_OLD_IMAGES", "NEW_IMAGE", 1), restoredStream, "NEW_AND_OLD_IMAGES"},
		{"with a stream that is off", strings.Replace(ready, `"StreamEnabled":true`, `"StreamEnabled":false`, 1), restoredStream, "is off"},
	} {
		client := cloud(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			io.WriteString(w, `{"Table":{`+tt.table+`}}`)
		}), "").DynamoDB
		err := DynamoDB{client}.Check(t.Context(), restored, tt.stream)
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}
