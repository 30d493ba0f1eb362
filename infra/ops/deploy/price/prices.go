package price

// Architecture is the architecture of every function in template.yaml.
const Architecture = "arm64"

// Price is one price in dollars, with its source and the date when it was read.
type Price struct {
	Dollars      float64
	Source, Read string
}

// Region is the region of all prices: both environments of infra/samconfig.toml are there.
const Region = "us-east-1"

// list are prices on demand, first tier, without free tiers.
type list struct {
	Request    Price // HTTP API
	Invocation Price
	// GBSecond prices the duration in an on-demand environment, WarmGBSecond that in a
	// provisioned one, and HeldGBSecond the provisioning itself.
	GBSecond, WarmGBSecond, HeldGBSecond Price
	WriteUnit, ReadUnit                  Price // of an on-demand table, standard class
	QueueCall                            Price // of a standard queue, up to 64 KB
	Event                                Price // published to a bus of EventBridge, up to 64 KB
	LogGB                                Price // ingested by CloudWatch Logs
	// EdgeRequest is an HTTPS request to CloudFront in North America or Europe, and
	// Inspection what its web ACL costs more.
	EdgeRequest, Inspection Price
}

const (
	priceList = "AWS Price List API"
	toolkit   = "https://github.com/aws/agent-toolkit-for-aws"
	sqsPage   = "https://cloudburn.io/blog/amazon-sqs-pricing"
	busPage   = "https://cloudburn.io/blog/amazon-eventbridge-pricing"
	wafPage   = "https://c3x.dev/blog/aws-waf-cost-explained/"
	edgePage  = "https://wring.co/blog/aws-cloudfront-pricing-guide"
)

var prices = list{
	Request:      Price{1.00 / 1e6, priceList, "2026-09-13"},
	Invocation:   Price{0.20 / 1e6, priceList, "2026-09-13"},
	GBSecond:     Price{0.0000133334, priceList, "2026-09-13"},
	WarmGBSecond: Price{0.0000077778, priceList, "2026-11-21"},
	HeldGBSecond: Price{0.0000033334, priceList, "2026-11-21"},
	WriteUnit:    Price{0.625 / 1e6, priceList, "2026-09-13"},
	ReadUnit:     Price{0.125 / 1e6, priceList, "2026-09-13"},
	QueueCall:    Price{0.40 / 1e6, sqsPage, "2026-03-14"},
	Event:        Price{1.00 / 1e6, busPage, "2026-11-22"},
	LogGB:        Price{0.50, toolkit, "2026-08-20"},
	EdgeRequest:  Price{0.0100 / 1e4, edgePage, "2026-11-22"},
	Inspection:   Price{0.60 / 1e6, wafPage, "2026-11-22"},
}
