package stack

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	metrics "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"flashsale/shared/telemetry"
)

// Purchases returns how many purchases of the whole stack had each of the results, in each of the minutes
// since from, which begins one. A minute that CloudWatch knows nothing of is 0. It has all of a minute about
// two minutes after its end, and charges for each result that is asked for.
func (s *Stack) Purchases(
	ctx context.Context, from time.Time, minutes int, results []string,
) (map[string][]int64, error) {
	in := cloudwatch.GetMetricDataInput{
		StartTime: &from, EndTime: aws.Time(from.Add(time.Duration(minutes) * time.Minute)),
	}
	counts, ids := map[string][]int64{}, map[string]string{}
	for i, result := range results {
		id := "m" + strconv.Itoa(i)
		counts[result], ids[id] = make([]int64, minutes), result
		in.MetricDataQueries = append(in.MetricDataQueries, metrics.MetricDataQuery{
			Id: &id,
			MetricStat: &metrics.MetricStat{Period: aws.Int32(60), Stat: aws.String("Sum"), Metric: &metrics.Metric{
				Namespace: aws.String(telemetry.Namespace), MetricName: aws.String("purchases"),
				Dimensions: []metrics.Dimension{
					{Name: aws.String("stack"), Value: &s.name}, {Name: aws.String("service"), Value: aws.String("purchase")},
					{Name: aws.String("result"), Value: &result},
				},
			}},
		})
	}
	out, err := s.cloudwatch.GetMetricData(ctx, &in) // one page has 100,800 figures
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	for _, r := range out.MetricDataResults {
		result, known := ids[aws.ToString(r.Id)]
		if !known || r.StatusCode != metrics.StatusCodeComplete {
			return nil, fmt.Errorf("read metrics: %s is %s", aws.ToString(r.Id), r.StatusCode)
		}
		for k, at := range r.Timestamps {
			if minute := int(at.Sub(from) / time.Minute); minute >= 0 && minute < minutes {
				counts[result][minute] += int64(r.Values[k])
			}
		}
	}
	return counts, nil
}
