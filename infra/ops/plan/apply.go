package plan

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"flashsale/infra/kit/samconfig"
)

// rate is a route's, in whole requests a second.
func rate(perSecond float64) string { return strconv.Itoa(int(math.Ceil(perSecond))) }

// parameters returns the template's parameters for the advice and the opening time.
func (a advice) parameters(o output) map[string]string {
	p := map[string]string{
		"PurchaseReservedConcurrency":    strconv.Itoa(a.concurrency),
		"PurchaseProvisionedConcurrency": strconv.Itoa(a.provisioned),
		"PurchaseRate":                   rate(a.throttle),
		"FinalizeMaximumConcurrency":     strconv.Itoa(a.finalizers),
		"QueryRate":                      rate(a.queryRate),
		"MaxWriteRequestUnits":           strconv.Itoa(a.warmWrites),
		"WarmFrom":                       "at(" + o.opens.UTC().Add(-warmBefore).Format(localTime) + ")",
		"WarmUntil":                      "at(" + o.opens.UTC().Add(warmAfter).Format(localTime) + ")",
	}
	if a.warmWrites > coldWrites {
		p["WarmWriteUnitsPerSecond"] = strconv.Itoa(a.warmWrites)
	}
	return p
}

// localTime is EventBridge's format of an instant in at(…).
const localTime = "2006-01-02T15:04:05"

// warmth can never be lowered: a deployment with less than the table has fails.
const warmth = "WarmWriteUnitsPerSecond"

func apply(o output, a advice) error {
	e, err := o.to.Environment()
	if err != nil {
		return err
	}
	p := a.parameters(o)
	now, _ := strconv.Atoi(p[warmth]) // not given: 0
	if had, _ := strconv.Atoi(e.Parameters[warmth]); had > now {
		p[warmth], p["MaxWriteRequestUnits"] = strconv.Itoa(had), strconv.Itoa(max(had, a.warmWrites))
	}
	if err := write(o, p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.out, "\nWrote %s, which `flashsale stack preflight%[2]s` and `flashsale stack deploy%[2]s` read. After the sale: `flashsale plan --apply%[3]s --rest`.\n",
		samconfig.SaleFile(o.to.ConfigFile(), o.to.Env), o.to.String(), strings.TrimPrefix(o.to.String(), " --env"))
	return nil
}

// rest removes a sale's parameters, except those that cannot be undone.
func rest(o output) error {
	e, err := o.to.Environment()
	if err != nil {
		return err
	}
	if err := write(o, nil); err != nil {
		return err
	}
	own, err := o.to.Environment()
	if err != nil {
		return err
	}
	p := map[string]string{}
	warm, _ := strconv.Atoi(e.Parameters[warmth])
	if warm > 0 {
		p[warmth] = strconv.Itoa(warm)
		_, _ = fmt.Fprintf(o.out, "%s stays %d: DynamoDB never lowers warm throughput. It was charged when it was raised and costs nothing more.\n", warmth, warm)
	}
	if own.Parameters["MaxWriteRequestUnits"] == "" && e.Parameters["MaxWriteRequestUnits"] != "" {
		// Leaving it out would keep the limit, and CloudFormation may refuse -1: its
		// schema of the table has a minimum of 1.
		p["MaxWriteRequestUnits"] = strconv.Itoa(max(tableQuota, warm))
	}
	if err := write(o, p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.out, "The next `flashsale stack deploy%s` sets everything else back to the values in %s.\n", o.to.String(), o.to.ConfigFile())
	return nil
}

// write puts the parameters into the environment's sale file, a line for each.
func write(o output, p map[string]string) error {
	arguments, err := (&samconfig.Environment{Parameters: p}).Arguments()
	if err != nil {
		return err
	}
	text := strings.Join(append(arguments, ""), "\n")
	if err := os.WriteFile(samconfig.SaleFile(o.to.ConfigFile(), o.to.Env), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the sale's parameters: %w", err)
	}
	return nil
}
