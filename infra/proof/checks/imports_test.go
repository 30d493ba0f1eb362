package checks

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "flashsale"

const (
	dynamodbPackage = "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sqsPackage      = "github.com/aws/aws-sdk-go-v2/service/sqs"
	eventsPackage   = "github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

// edges calls allow for every import of the files that from accepts; if it returns
// false, the import is a finding.
func edges(from func(*source) bool, says string, allow func(s *source, imported string) bool) func([]*source) []finding {
	return func(all []*source) (found []finding) {
		for _, s := range all {
			if !from(s) {
				continue
			}
			for _, spec := range s.ast.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil || !allow(s, imported) {
					found = append(found, s.find(spec.Pos(), "imports %s: %s", imported, says))
				}
			}
		}
		return found
	}
}

// inModule returns the folder of an imported package of this module.
func inModule(imported string) (dir string, ok bool) {
	return strings.CutPrefix(imported, module+"/")
}

// functionOf returns the function's folder of a file below functions/.
func functionOf(s *source) string {
	steps := strings.Split(s.dir(), "/")
	return strings.Join(steps[:min(2, len(steps))], "/")
}

// isStandard reports whether a package is in the standard library: its first path
// element has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}

// isFake reports whether a package belongs to the tests of the product: the fake
// DynamoDB, the ledger over it, and the suite that fake and engine pass alike.
func isFake(dir string) bool {
	return under(dir, "infra/kit/dynamotest") || under(dir, "infra/kit/testledger") || under(dir, "infra/proof/ledgertest")
}

// groupRule allows the packages of one group below infra to import the product, their
// own group and those given. Tests may import the fakes; those of ops also the world
// that proof judges the product in, and those of proof the tools of ops.
func groupRule(group string, others ...string) codeRule {
	return codeRule{
		name: "infra/" + group + " imports of infra only itself" + strings.Join(append([]string{""}, others...), " and "),
		check: edges(anyIn("infra/"+group), "the groups of infra point one way", func(s *source, imported string) bool {
			dir, ours := inModule(imported)
			if !ours || !under(dir, "infra") || under(dir, "infra/"+group) {
				return true
			}
			if s.isTest() && (isFake(dir) || group == "ops" && dir == "infra/proof/harness" || group == "proof" && under(dir, "infra/ops")) {
				return true
			}
			return slices.ContainsFunc(others, func(other string) bool { return under(dir, "infra/"+other) })
		}),
		breaks: []broken{
			imports("infra/"+group+"/x/x.go", module+"/infra/another"),
			imports("infra/"+group+"/x/x_test.go", module+"/infra/another"),
		},
	}
}

func codeIn(dirs ...string) func(*source) bool {
	return func(s *source) bool {
		return !s.isTest() && slices.ContainsFunc(dirs, func(d string) bool { return under(s.dir(), d) })
	}
}

func anyIn(dirs ...string) func(*source) bool {
	return func(s *source) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return under(s.dir(), d) })
	}
}

func imports(name, imported string) broken {
	return broken{name, "package p\nimport _ " + strconv.Quote(imported) + "\n"}
}

func TestImportsPointOneWay(t *testing.T) {
	checkCode(t, []codeRule{
		{
			name: "a function imports shared packages and its own, never another function",
			check: edges(anyIn("functions"), "a function may import shared packages and its own only",
				func(s *source, imported string) bool {
					dir, ours := inModule(imported)
					return !ours || under(dir, "shared") || under(dir, functionOf(s)) || s.isTest() && isFake(dir)
				}),
			breaks: []broken{
				imports("functions/query/main.go", module+"/functions/seed/handler"),
				imports("functions/query/handler/x.go", module+"/functions/seed"),
				imports("functions/query/handler/x.go", module+"/infra/kit/dynamotest"),
				imports("functions/query/x_test.go", module+"/infra/local/engine"),
			},
		},
		{
			name: "a shared package imports shared packages only",
			check: edges(anyIn("shared"), "a shared package may import shared packages only",
				func(s *source, imported string) bool {
					dir, ours := inModule(imported)
					return !ours || under(dir, "shared") || s.isTest() && isFake(dir)
				}),
			breaks: []broken{
				imports("shared/ledger/x.go", module+"/functions/seed"),
				imports("shared/ledger/x.go", module+"/infra/proof/ledgertest"),
				imports("shared/sale/x_test.go", module+"/infra/local"),
			},
		},
		groupRule("kit"),
		groupRule("local", "kit"),
		groupRule("ops", "kit", "local"),
		groupRule("proof", "kit", "local"),
		groupRule("lab", "kit", "local"),
		{
			name: "the rules, the currencies, the draw and the order ids import the standard library only, and the rules the currencies",
			check: edges(codeIn("shared/sale", "shared/currency", "shared/draw", "shared/orderid"), "only the standard library is allowed here",
				func(s *source, imported string) bool {
					return isStandard(imported) || s.dir() == "shared/sale" && imported == module+"/shared/currency"
				}),
			breaks: []broken{
				imports("shared/sale/x.go", "github.com/aws/aws-sdk-go-v2/aws"),
				imports("shared/currency/x.go", "golang.org/x/text/currency"),
				imports("shared/draw/x.go", module+"/shared/beacon"),
				imports("shared/orderid/x.go", module+"/shared/sale"),
			},
		},
		{
			name: "the HTTP contract knows Lambda's events and no AWS client",
			check: edges(codeIn("shared/httpapi"), "of AWS only the Lambda events are allowed here",
				func(_ *source, imported string) bool {
					return !strings.HasPrefix(imported, "github.com/aws/") || imported == "github.com/aws/aws-lambda-go/events"
				}),
			breaks: []broken{
				imports("shared/httpapi/x.go", "github.com/aws/aws-sdk-go-v2/aws"),
				imports("shared/httpapi/x.go", "github.com/aws/smithy-go"),
				imports("shared/httpapi/x.go", "github.com/aws/aws-lambda-go/lambda"),
			},
		},
		{
			name: "of shared and functions only the ledger knows the DynamoDB client",
			check: edges(anyIn("shared", "functions"), "only shared/ledger may",
				func(s *source, imported string) bool {
					return under(s.dir(), "shared/ledger") || !under(imported, dynamodbPackage)
				}),
			breaks: []broken{
				imports("functions/query/x.go", dynamodbPackage+"/types"),
				imports("shared/orderq/x_test.go", dynamodbPackage),
			},
		},
		{
			name: "of shared and functions only the order queue and what publishes events know the SQS client",
			check: edges(anyIn("shared", "functions"), "only shared/orderq and functions/publish may",
				func(s *source, imported string) bool {
					return s.dir() == "shared/orderq" || s.dir() == "functions/publish/handler" || !under(imported, sqsPackage)
				}),
			breaks: []broken{imports("shared/ledger/x.go", sqsPackage), imports("functions/purchase/x_test.go", sqsPackage)},
		},
		{
			name: "of shared and functions only the event bus knows the EventBridge client",
			check: edges(anyIn("shared", "functions"), "only shared/eventbus may",
				func(s *source, imported string) bool {
					return s.dir() == "shared/eventbus" || !under(imported, eventsPackage)
				}),
			breaks: []broken{imports("shared/ledger/x.go", eventsPackage), imports("functions/publish/handler/x.go", eventsPackage+"/types")},
		},
		{
			name: "the recount shares no code with what it judges",
			check: edges(codeIn("infra/kit/books"), "the recount knows DynamoDB's client and the items' documentation only",
				func(_ *source, imported string) bool {
					return isStandard(imported) || imported == dynamodbPackage || imported == dynamodbPackage+"/types" ||
						imported == "github.com/aws/aws-sdk-go-v2/aws" || imported == "github.com/aws/smithy-go" ||
						imported == module+"/infra/kit/drawcheck/rules" // which has the second implementation of a draw's rules
				}),
			breaks: []broken{
				imports("infra/kit/books/x.go", module+"/shared/sale"),
				imports("infra/kit/books/x.go", module+"/infra/kit/drawcheck"),
				imports("infra/kit/books/x.go", module+"/shared/orderid"),
				imports("infra/kit/books/sub/x.go", module+"/shared/ledger"),
				imports("infra/kit/books/x.go", module+"/infra/kit/client"),
			},
		},
		{
			name: "who judges the answers shares no code with who gave them",
			check: edges(func(s *source) bool { return !s.isTest() && s.dir() == "infra/kit/client" }, "the client knows the documented API only",
				func(_ *source, imported string) bool {
					return isStandard(imported) || imported == "golang.org/x/sync/errgroup"
				}),
			breaks: []broken{
				imports("infra/kit/client/x.go", module+"/shared/sale"),
				imports("infra/kit/client/x.go", "github.com/aws/aws-sdk-go-v2/service/lambda"),
			},
		},
		{
			name: "the verdict shares no code with what it judges",
			check: edges(codeIn("infra/kit/verdict"), "the verdict knows the answers and the recounted table only",
				func(_ *source, imported string) bool {
					return isStandard(imported) || imported == module+"/infra/kit/client" || imported == module+"/infra/kit/books"
				}),
			breaks: []broken{
				imports("infra/kit/verdict/x.go", module+"/shared/sale"),
				imports("infra/kit/verdict/x.go", module+"/shared/orderid"),
			},
		},
		{
			name: "who checks a draw shares no code with who draws, nor the library of the pairing",
			check: edges(codeIn("infra/kit/drawcheck"), "the check of a draw knows the documented API and rules only",
				func(_ *source, imported string) bool {
					return isStandard(imported) || imported == "golang.org/x/sync/errgroup" || imported == module+"/infra/kit/client" ||
						imported == module+"/infra/kit/drawcheck/rules" || under(imported, "github.com/consensys/gnark-crypto")
				}),
			breaks: []broken{
				imports("infra/kit/drawcheck/x.go", module+"/shared/draw"),
				imports("infra/kit/drawcheck/rules/x.go", module+"/shared/draw"),
				imports("infra/kit/drawcheck/x.go", module+"/shared/beacon"),
				imports("infra/kit/drawcheck/x.go", "github.com/cloudflare/circl/ecc/bls12381"),
			},
		},
		{
			name: "what is deployed imports nothing that exists for tests",
			check: edges(func(s *source) bool { return codeIn("shared", "functions")(s) && !isTestSupport(s.dir()) },
				"it exists for tests", func(_ *source, imported string) bool {
					dir, ours := inModule(imported)
					return imported != "testing" && (!ours || !isTestSupport(dir))
				}),
			breaks: []broken{
				imports("shared/ledger/x.go", "testing"),
				imports("functions/seed/x.go", module+"/shared/httpapi/httpapitest"),
			},
		},
	})
}
