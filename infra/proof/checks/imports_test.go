package checks

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	dynamodbPackage = "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	sqsPackage      = "github.com/aws/aws-sdk-go-v2/service/sqs"
	eventsPackage   = "github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

// inModule returns the folder of an imported package of this module.
func inModule(imported string) (dir string, ok bool) {
	return strings.CutPrefix(imported, module+"/")
}

// isFake reports whether a package belongs to the tests of the product: the fake
// DynamoDB, the ledger over it, and the suite that fake and engine pass alike.
func isFake(dir string) bool {
	return under(dir, "infra/kit/dynamotest") || under(dir, "infra/kit/testledger") || under(dir, "infra/proof/ledgertest") ||
		under(dir, "infra/kit/client/webhook") // which plays the payment providers
}

// edge allows imports of some files.
type edge struct {
	name   string
	from   func(*source) bool
	allows func(s *source, imported string) bool
}

// group allows the packages of one group below infra to import the product, their
// own group and those given. Tests may import the fakes, those of proof also the tools of
// ops.
func group(group string, others ...string) edge {
	return edge{"the groups of infra point one way", anyIn("infra/" + group), func(s *source, imported string) bool {
		dir, ours := inModule(imported)
		if !ours || !under(dir, "infra") || under(dir, "infra/"+group) {
			return true
		}
		if s.isTest() && (isFake(dir) || group == "proof" && under(dir, "infra/ops")) {
			return true
		}
		return slices.ContainsFunc(others, func(other string) bool { return under(dir, "infra/"+other) })
	}}
}

// only allows the standard library and some packages.
func only(imports ...string) func(*source, string) bool {
	return func(_ *source, imported string) bool {
		first, _, _ := strings.Cut(imported, "/")
		return first != module && !strings.Contains(first, ".") || slices.Contains(imports, imported)
	}
}

var edges = []edge{
	{"a function may import shared packages and its own only", anyIn("functions"), func(s *source, imported string) bool {
		dir, ours := inModule(imported)
		steps := strings.Split(s.path, "/")
		return !ours || under(dir, "shared") || under(dir, strings.Join(steps[:2], "/")) || s.isTest() && isFake(dir)
	}},
	{"a shared package may import shared packages only", anyIn("shared"), func(s *source, imported string) bool {
		dir, ours := inModule(imported)
		return !ours || under(dir, "shared") || s.isTest() && isFake(dir)
	}},
	group("kit"), group("local", "kit"), group("ops", "kit", "local"), group("proof", "kit", "local"), group("lab", "kit", "local"),
	{"the domain knows the standard library only", codeIn("shared/currency", "shared/draw", "shared/orderid"), only()},
	{"the sale's rules know the currencies and order ids only", codeIn("shared/sale"), only(module+"/shared/currency", module+"/shared/orderid")},
	{"the HTTP contract knows Lambda's events and no AWS client", codeIn("shared/httpapi"), func(_ *source, imported string) bool {
		return !strings.HasPrefix(imported, "github.com/aws/") || imported == "github.com/aws/aws-lambda-go/events"
	}},
	{"only shared/ledger knows the DynamoDB client", anyIn("shared", "functions"), func(s *source, imported string) bool {
		return under(s.dir(), "shared/ledger") || !under(imported, dynamodbPackage)
	}},
	{"only the ledger knows its table", anyIn("shared", "functions", "infra", "events"), func(s *source, imported string) bool {
		return under(s.dir(), "shared/ledger") || imported != module+"/shared/ledger/table"
	}},
	{"no function contains what operators alone do to the table", codeIn("shared", "functions"), func(_ *source, imported string) bool {
		return imported != module+"/shared/ledger/maintenance"
	}},
	{"only shared/orderq, functions/publish and functions/operate/stack know the SQS client", anyIn("shared", "functions"), func(s *source, imported string) bool {
		return s.dir() == "shared/orderq" || s.dir() == "functions/publish/handler" || s.dir() == "functions/operate/stack" || !under(imported, sqsPackage)
	}},
	{"only shared/eventbus knows the EventBridge client", anyIn("shared", "functions"), func(s *source, imported string) bool {
		return s.dir() == "shared/eventbus" || !under(imported, eventsPackage)
	}},
	// The judges share no code with the judged.
	{"the recount knows DynamoDB's client and a second implementation of a draw's rules only", codeIn("infra/kit/books"), only(
		dynamodbPackage, dynamodbPackage+"/types", "github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/smithy-go", "golang.org/x/sync/errgroup",
		module+"/infra/kit/drawcheck/rules",
	)},
	{"the client knows the documented API only", func(s *source) bool { return !s.isTest() && s.dir() == "infra/kit/client" }, only("golang.org/x/sync/errgroup")},
	{"the verdict knows the answers and the recounted table only", codeIn("infra/kit/verdict"), only(module+"/infra/kit/client", module+"/infra/kit/books")},
	{"the check of a draw knows the documented API and rules only", codeIn("infra/kit/drawcheck"), func(s *source, imported string) bool {
		return under(imported, "github.com/consensys/gnark-crypto") ||
			only("golang.org/x/sync/errgroup", module+"/infra/kit/client", module+"/infra/kit/drawcheck/rules")(s, imported)
	}},
	{"what is deployed imports nothing that exists for tests", isDeployed, func(_ *source, imported string) bool {
		dir, _ := inModule(imported)
		return imported != "testing" && !isTestSupport(dir)
	}},
	{"the wall clock is handed out by start.go and startup, and by the ledger where it is given none", isDeployed, func(s *source, imported string) bool {
		return imported != module+"/shared/clock" || s.path == "shared/ledger/table/table.go" || s.path == "shared/startup/startup.go" || strings.HasSuffix(s.path, "/start/start.go")
	}},
}

func TestImportsPointOneWay(t *testing.T) {
	all := sources(t)
	for _, e := range edges {
		governed := 0
		for _, s := range all {
			if !e.from(s) {
				continue
			}
			governed++
			for _, spec := range s.ast.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil || !e.allows(s, imported) {
					s.errorf(t, spec.Pos(), "imports %s: %s", imported, e.name)
				}
			}
		}
		if governed == 0 {
			t.Errorf("no file is governed by: %s", e.name)
		}
	}
}
