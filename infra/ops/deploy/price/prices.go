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
	// SignIn is a person who signs in to a Cognito user pool of the plan Lite within a month, up to
	// 100,000; SignInFrom100k the next up to a million, SignInFrom1M the others. EssentialSignIn
	// is one of the plan Essentials.
	SignIn, SignInFrom100k, SignInFrom1M, EssentialSignIn Price
	Trace                                                 Price // recorded by X-Ray
}

const (
	priceList = "AWS Price List API"
	toolkit   = "https://github.com/aws/agent-toolkit-for-aws"
	sqsPage   = "https://cloudburn.io/blog/amazon-sqs-pricing"
	busPage   = "https://cloudburn.io/blog/amazon-eventbridge-pricing"
	wafPage   = "https://c3x.dev/blog/aws-waf-cost-explained/"
	edgePage  = "https://wring.co/blog/aws-cloudfront-pricing-guide"
	userPool  = "https://github.com/stacktape/stacktape"
	poolPage  = "https://aws.amazon.com/cognito/pricing/"
	xrayPage  = "https://aws.amazon.com/xray/pricing/"
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

	SignIn:          Price{0.0055, userPool, "2026-11-27"},
	SignInFrom100k:  Price{0.0046, userPool, "2026-11-27"},
	SignInFrom1M:    Price{0.00325, userPool, "2026-11-27"},
	EssentialSignIn: Price{0.015, poolPage, "2026-09-20"},
	Trace:           Price{5.00 / 1e6, xrayPage, "2026-11-22"},
}
