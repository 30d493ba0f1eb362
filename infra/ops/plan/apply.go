package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"flashsale/infra/kit/samconfig"
)

// parameters returns the template's parameters for the advice and the opening time.
func (a advice) parameters(o output) map[string]string {
	whole := func(x float64) string { return strconv.Itoa(int(math.Ceil(x))) }
	p := map[string]string{
		"PurchaseReservedConcurrency":    strconv.Itoa(a.concurrency),
		"PurchaseProvisionedConcurrency": strconv.Itoa(a.provisioned),
		"PurchaseRateLimit":              whole(a.throttle),
		"PurchaseBurstLimit":             whole(burst(a.throttle)),
		"FinalizeMaximumConcurrency":     strconv.Itoa(a.finalizers),
		"FinalizeReservedConcurrency":    strconv.Itoa(a.finalizers),
		"QueryReservedConcurrency":       strconv.Itoa(a.queries),
		"QueryRateLimit":                 whole(a.queryRate),
		"QueryBurstLimit":                whole(burst(a.queryRate)),
		"OperateReservedConcurrency":     strconv.Itoa(operators),
		"ReconcileReservedConcurrency":   strconv.Itoa(reconcilers),
		"ReleaseReservedConcurrency":     strconv.Itoa(releasers),
		"DrawReservedConcurrency":        strconv.Itoa(drawers),
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

// keptForGood are parameters that can never be lowered: a deployment with less than the
// table has fails.
var keptForGood = []string{"WarmWriteUnitsPerSecond", "WarmReadUnitsPerSecond"}

// apply writes the sale's parameters for make preflight and make deploy.
func apply(o output, a advice) error {
	e, err := samconfig.Read(o.config, o.environment)
	if err != nil {
		return err
	}
	p := a.parameters(o)
	for _, name := range keptForGood {
		had, _ := strconv.Atoi(e.Parameters[name]) // not a number: 0
		if now, _ := strconv.Atoi(p[name]); had > now {
			p[name] = strconv.Itoa(had)
		}
	}
	if warm, _ := strconv.Atoi(p["WarmWriteUnitsPerSecond"]); warm > a.warmWrites {
		p["MaxWriteRequestUnits"] = strconv.Itoa(warm)
	}
	if err := write(o, p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.progress, "\nWrote %s, which make preflight and make deploy read. After the sale: make plan APPLY=%s REST=1.\n",
		samconfig.SaleFile(o.config, o.environment), o.environment)
	return nil
}

// rest removes a sale's parameters, except those that cannot be undone.
func rest(o output) error {
	e, err := samconfig.Read(o.config, o.environment)
	if err != nil {
		return err
	}
	file := samconfig.SaleFile(o.config, o.environment)
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("take back the sale's parameters: %w", err)
	}
	own, err := samconfig.Read(o.config, o.environment)
	if err != nil {
		return err
	}
	p := map[string]string{}
	for _, name := range keptForGood {
		if v := e.Parameters[name]; v != "" && v != "0" {
			p[name] = v
			_, _ = fmt.Fprintf(o.progress, "%s stays %s: DynamoDB never lowers warm throughput. It was charged when it was raised and costs nothing more.\n", name, v)
		}
	}
	if own.Parameters["MaxWriteRequestUnits"] == "" && e.Parameters["MaxWriteRequestUnits"] != "" {
		// Leaving it out would keep the limit, and CloudFormation may refuse -1: its
		// schema of the table has a minimum of 1.
		warm, _ := strconv.Atoi(p["WarmWriteUnitsPerSecond"])
		p["MaxWriteRequestUnits"] = strconv.Itoa(max(tableQuota, warm))
	}
	if err := write(o, p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(o.progress, "The next make deploy sets everything else back to the values in %s.\n", o.config)
	return nil
}

// write puts the parameters into the environment's sale file.
func write(o output, p map[string]string) error {
	arguments, err := (&samconfig.Environment{Parameters: p}).Arguments()
	if err != nil {
		return err
	}
	text := strings.Join(arguments, "\n")
	if text != "" {
		text += "\n"
	}
	if err := os.WriteFile(samconfig.SaleFile(o.config, o.environment), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the sale's parameters: %w", err)
	}
	return nil
}
