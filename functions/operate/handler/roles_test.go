package handler

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/sale"
)

func TestARoleCountsOnlyAsAWholeName(t *testing.T) {
	for want, claims := range map[rights][]string{
		viewer: {
			"flashsale-viewer", "[staff flashsale-viewer]", "[flashsale-viewer x-flashsale-operator]", "[flashsale-viewer flashsale-operators]", "[flashsale-viewer Flashsale-Operator]",
			"[flashsale-viewer flashsale-operator,]", "[[flashsale-operator] flashsale-viewer]",
		},
		operator: {
			"flashsale-operator", "[flashsale-operator]", "[flashsale-viewer flashsale-operator]", "[flashsale-operator flashsale-viewer]", "flashsale-viewer flashsale-operator",
		},
		cashier:            {"flashsale-cashier", "[flashsale-viewer flashsale-cashier]", "[flashsale-cashier flashsale-operators]"},
		operator | cashier: {"[flashsale-cashier flashsale-operator]", "flashsale-operator flashsale-viewer flashsale-cashier"},
		nobody: {
			"[flashsale-viewer,flashsale-operator]", `["flashsale-operator"]`, "[[flashsale-operator]]", "[flashsale-operator", "flashsale-operator]", "(flashsale-operator)",
			"map[flashsale-operator:flashsale-operator]", "map[roles:[flashsale-operator flashsale-viewer]", "flashsale-operator\tx", "flashsale-operator\n", "x\u00a0flashsale-operator",
			"flashsale\u2010operator", "flashsale-operators", "flashsale-", "operator", "[]", "[", "]", "", " ",
		},
	} {
		for _, claim := range claims {
			if got := rolesOf(claim); got != want {
				t.Errorf("%q: %b, want %b", claim, got, want)
			}
		}
	}
}

func TestAViewerReadsAndChangesNothing(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		for name, changes := range requests {
			before := f.DB.Dump()
			r := f.Ask(t, t.Context(), event(t, name, groups("[flashsale-viewer]"), user("vera")))
			switch {
			case changes:
				refused(t, r, 403, sale.Forbidden)
			case r.StatusCode != 200:
				t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
			}
			if f.DB.Dump() != before {
				t.Errorf("%s has changed the table", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(requests)) { // a sending begins before it is stopped
			f.answered(t, event(t, name, groups("[flashsale-operator flashsale-cashier]"), user("kim")))
		}
		if all := f.trail(t); len(all) != 1 || all[0].Actor != "kim" || !all[0].Verified || all[0].Note != "the price is wrong" {
			t.Errorf("after an operator the trail is %+v", all)
		}
	})
}

func TestWhoHasNoRoleReachesNothing(t *testing.T) {
	none := func(r *events.APIGatewayV2HTTPRequest) {
		delete(r.RequestContext.Authorizer.JWT.Claims, "cognito:groups")
	}
	elsewhere := func(r *events.APIGatewayV2HTTPRequest) {
		none(r)
		r.RequestContext.Authorizer.JWT.Claims["roles"] = "flashsale-operator"
		r.RequestContext.Authorizer.JWT.Claims["Cognito:Groups"] = "flashsale-operator"
		r.RequestContext.Authorizer.JWT.Claims["scope"] = "flashsale-operator"
		r.Headers["cognito:groups"] = "flashsale-operator"
	}
	in(t, func(t *testing.T, f *function) {
		for name := range requests {
			for _, change := range []func(*events.APIGatewayV2HTTPRequest){none, elsewhere, groups(""), groups("[buyers]"), groups("[x-flashsale-operator flashsale-operators]")} {
				if calls := f.Calls(func() { refused(t, f.Ask(t, t.Context(), event(t, name, change)), 403, sale.Forbidden) }); calls != 0 {
					t.Errorf("%s reaches the table", name)
				}
			}
			anonymous := func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }
			refused(t, f.Ask(t, t.Context(), event(t, name, anonymous)), 401, sale.Unauthorized)
			refused(t, f.Ask(t, t.Context(), event(t, name, user(""))), 401, sale.Unauthorized)
			refused(t, f.Ask(t, t.Context(), event(t, name, user("a\x00b"))), 400, sale.InvalidRequest)
		}
	})
}

func TestByInvokeTheActorIsAsTold(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		f.Pause()
		f.answered(t, event(t, asTold))
		if all := f.trail(t); len(all) != 2 || all[0].Actor != "arn:aws:sts::123456789012:assumed-role/operators/kim" || all[0].Verified {
			t.Errorf("the trail is %+v", all)
		}
		for _, told := range []string{`{}`, `null`, `{"actor":""}`, `{"actor":null}`, `{"Actor":"kim"}`} {
			raw := strings.Replace(string(event(t, asTold)), `{
        "actor": "arn:aws:sts::123456789012:assumed-role/operators/kim"
      }`, told, 1)
			refused(t, f.Ask(t, t.Context(), []byte(raw)), 401, sale.Unauthorized)
		}
	})
}

func TestAnEventWithTwoCallersIsNoEvent(t *testing.T) {
	const jwt, told = `"jwt":{"claims":{"sub":"kim","cognito:groups":"flashsale-operator"}}`, `"asTold":{"actor":"kim"}`
	in(t, func(t *testing.T, f *function) {
		for _, raw := range []string{
			`{"requestContext":{"authorizer":{` + jwt + `,` + told + `}}}`,
			`{"requestContext":{"authorizer":{` + told + `,` + jwt + `}}}`,
			`{"requestContext":{"authorizer":{` + jwt + `,"asTold":null}}}`,
			`{"requestContext":{"authorizer":{"jwt":null,` + told + `}}}`,
			`{"requestContext":{"authorizer":{` + told + `,` + told + `}}}`,
			`{"requestContext":{"authorizer":{` + jwt + `,` + jwt + `}}}`,
			`{"requestContext":{"authorizer":{` + jwt + `},"authorizer":{` + told + `}}}`,
			`{"requestContext":{"authorizer":{` + jwt + `}},"requestContext":{"authorizer":{` + told + `}}}`,
			`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"kim","cognito:groups":"flashsale-viewer","cognito:groups":"flashsale-operator"}}}}}`,
			`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"kim","cognito:groups":"flashsale-viewer","cognito\u003agroups":"flashsale-operator"}}}}}`,
			`{"requestContext":{"authorizer":{"asTold":{"actor":"kim","actor":"vera"}}}}`,
			`{"requestContext":{"authorizer":{"asTold":{"actor":["kim"]}}}}`,
			`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"kim","cognito:groups":["flashsale-operator"]}}}}}`,
			`[]`, ``, `{`,
		} {
			if answer, err := f.Invoke(t, t.Context(), []byte(raw)); err == nil {
				t.Errorf("%s is answered with %s", raw, answer)
			}
		}
	})
}
