package price

// Architecture is the architecture of every function in template.yaml.
const Architecture = "arm64"

// Memory is the memory of every function in template.yaml, in MB.
const Memory = 512

// Region is the region of all prices: both environments of infra/samconfig.toml are there.
const Region = "us-east-1"

// Prices in dollars on demand, first tier, without free tiers.
const (
	request      = 1.00 / 1e6   // HTTP API; AWS Price List API, 2026-09-13
	invocation   = 0.20 / 1e6   // AWS Price List API, 2026-09-13
	gbSecond     = 0.0000133334 // in an on-demand environment; AWS Price List API, 2026-09-13
	warmGBSecond = 0.0000077778 // in a provisioned environment; AWS Price List API, 2026-11-21
	heldGBSecond = 0.0000033334 // provisioned, used or not; AWS Price List API, 2026-11-21
	writeUnit    = 0.625 / 1e6  // of an on-demand table, standard class; AWS Price List API, 2026-09-13
	readUnit     = 0.125 / 1e6  // AWS Price List API, 2026-09-13
	queueCall    = 0.40 / 1e6   // standard queue, up to 64 KB; https://cloudburn.io/blog/amazon-sqs-pricing, 2026-03-14
	event        = 1.00 / 1e6   // EventBridge, up to 64 KB; https://cloudburn.io/blog/amazon-eventbridge-pricing, 2026-11-22
	logGB        = 0.50         // ingested; https://github.com/aws/agent-toolkit-for-aws, 2026-08-20
	edgeRequest  = 0.0100 / 1e4 // HTTPS to CloudFront, North America or Europe; https://wring.co/blog/aws-cloudfront-pricing-guide, 2026-11-22
	inspection   = 0.60 / 1e6   // of an edge request by its web ACL; https://c3x.dev/blog/aws-waf-cost-explained/, 2026-11-22

	// A person who signs in to a Cognito user pool of the plan Lite within a month: up to 100,000, up to
	// a million and beyond; https://github.com/stacktape/stacktape, 2026-11-27.
	signIn, signInFrom100k, signInFrom1M = 0.0055, 0.0046, 0.00325
)
