package checks

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/shared/sale"
)

// settings are single values that AWS, an attacker or a user would punish if they changed: by file, by place, with
// what is at stake.
var settings = map[string][][3]string{
	templateFile: {
		{"Conditions.HasOwnTable.0", "!Ref ExistingTable", "the table is created beside an existing one"},
		{"Resources.LedgerTable.Condition", "HasOwnTable", "the table is created beside an existing one"},
		{"Resources.LedgerTable.DeletionPolicy", "Retain", "the table goes with the stack"},
		{"Resources.LedgerTable.UpdateReplacePolicy", "Retain", "the table goes with a replacement"},
		{"Resources.LedgerTable.Properties.BillingMode", "PAY_PER_REQUEST", "a sale needs capacity within seconds"},
		{"Resources.LedgerTable.Properties.DeletionProtectionEnabled", "true", "the table can be deleted"},
		{"Resources.LedgerTable.Properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", "true", "the table cannot be restored"},
		{"Resources.LedgerTable.Properties.StreamSpecification.1.StreamViewType", "NEW_AND_OLD_IMAGES", "events are made of both images"},
		{"Resources.LedgerTable.Properties.StreamSpecification.2", "!Ref AWS::NoValue", "the stream cannot be switched off"},
		{"Resources.Api.Properties.FailOnWarnings", "true", "the API is deployed in spite of warnings"},
		{"Resources.Api.Properties.DisableExecuteApiEndpoint.0", "HasApiDomain", "execute-api stays open beside the domain"},
		{"Resources.Api.Properties.DisableExecuteApiEndpoint.1", "true", "execute-api stays open beside the domain"},
		{"Resources.ApiDomainMapping.Condition", "HasApiDomain", "the domain leads nowhere"},
		{"Resources.ApiDomainMapping.Properties.ApiId", "!Ref Api", "the domain leads nowhere"},
		{"Resources.BuyScope.Properties.Identifier", "flashsale", "the page's tokens have another scope than its routes admit"},
		{"Resources.BuyScope.Properties.Scopes.0.ScopeName", "buy", "the page's tokens have another scope than its routes admit"},
		{"Resources.UserPoolClient.Properties.AllowedOAuthScopes.1.0", "openid", "a page's token may change profiles"},
		{"Resources.UserPoolClient.Properties.AllowedOAuthScopes.1.1", "!Sub ${BuyScope}/buy", "a page's token may change profiles"},
		{"Resources.UserPoolClient.Properties.AllowedOAuthScopes.1.2", "", "a page's token may change profiles"},
		{"Resources.PageFunction.Properties.Environment.Variables.SIGNIN_SCOPE.1", "openid flashsale/buy", "the page asks for another scope"},
		{"Resources.OperateScope.Properties.Identifier", "flashsale", "the page's tokens have another scope than its routes admit"},
		{"Resources.OperateScope.Properties.Scopes.0.ScopeName", "operate", "the page's tokens have another scope than its routes admit"},
		{"Resources.OperatorPoolClient.Properties.AllowedOAuthScopes.1.0", "openid", "an operator's token may change profiles"},
		{"Resources.OperatorPoolClient.Properties.AllowedOAuthScopes.1.1", "!Sub ${OperateScope}/operate", "an operator's token may change profiles"},
		{"Resources.OperatorPoolClient.Properties.AllowedOAuthScopes.1.2", "", "an operator's token may change profiles"},
		{"Resources.OperateFunction.Properties.Environment.Variables.SIGNIN_SCOPE.1", "openid flashsale/operate", "the page asks for another scope"},
		{"Resources.Front.Condition", "HasFront", "the front is not off by default"},
		{"Resources.Front.Properties.TemplateURL", frontFile, "the front is another template"},
		{"Resources.Front.Properties.Parameters.ApiDomainName", "!Sub ${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}", "the front does not reach the API"},
		{"Resources.RefundFunction.Condition", "HasRefunds", "a function that moves money is there unasked"},
		{"Resources.RefundFunction.Properties.Environment.Variables.REFUND_PROVIDERS_URL", "", "refunds and keys go to another than the providers"},
		{"Resources.Alarms.Properties.TemplateURL", alarmsFile, "the alarms are another template"},
		{"Rules.WithoutAFrontNobodyIsTurnedAway.Assertions.0.Assert.0", "!Ref OriginSecret", "switching the front off turns everybody away"},
		{"Globals.Function.AutoPublishAliasAllProperties", "true", "a change of a role or a layer publishes no version, unless flashsale stack deploy gives fingerprints"},
		{"Globals.Function.DeploymentPreference.Type", "!Ref DeploymentType", "nobody can choose how it is rolled out"},
		{"Globals.Function.DeploymentPreference.Role", "!GetAtt RolloutRole.Arn", "SAM makes a role without the boundary"},
		{"Parameters.CreateFront.Default", "false", "the front costs money"},
		{"Parameters.PublishEvents.Default", "false", "the stream costs money"},
		{"Parameters.DeploymentType.Default", "AllAtOnce", "a broken system could not be repaired while an alarm is on"},
		{"Outputs.Version.Value", sale.ProgramVersion, "the stack says another version than its functions"},
	},
	frontFile: {
		{"Parameters.OriginSecret.NoEcho", "true", "the secret is shown"},
		{"Resources.WebAclLogging.Properties.RedactedFields.0.SingleHeader.Name", "authorization", "a buyer's token is logged"},
		{"Resources.Distribution.Properties.DistributionConfig.Origins.0.OriginCustomHeaders.0.HeaderName", "X-Origin-Verify", "the API cannot tell the front's requests"},
		{"Resources.Distribution.Properties.DistributionConfig.Origins.0.OriginCustomHeaders.0.HeaderValue", "!Ref OriginSecret", "the API cannot tell the front's requests"},
		{"Resources.Distribution.Properties.DistributionConfig.Origins.0.CustomOriginConfig.OriginProtocolPolicy", "https-only", "the API is called in the clear"},
		{"Resources.Distribution.Properties.DistributionConfig.DefaultCacheBehavior.ViewerProtocolPolicy", "https-only", "the front answers in the clear"},
		{"Resources.WebAcl.Properties.Scope", "CLOUDFRONT", "CloudFront takes no such web ACL"},
		{"Resources.SalePageCache.Properties.CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin.HeadersConfig.HeaderBehavior", "none", "whoever changes a header gets a page that is not kept yet"},
		{"Resources.PageCache.Properties.CachePolicyConfig.DefaultTTL", "0", "a page that may not be kept is kept"},
		{"Resources.PageCache.Properties.CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin.QueryStringsConfig.QueryStringBehavior", "none", "the code of a sign-in reaches the API's log"},
		{"Resources.PageCache.Properties.CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin.HeadersConfig.HeaderBehavior", "none", "whoever changes a header gets a page that is not kept yet"},
		{"Resources.PageCache.Properties.CachePolicyConfig.ParametersInCacheKeyAndForwardedToOrigin.EnableAcceptEncodingGzip", "true", "the compressed page goes to those who cannot read it"},
	},
}

func TestNoSettingOfTheTemplatesIsOneThatAWSOrAnAttackerPunishes(t *testing.T) {
	for file, rows := range settings {
		tmpl := parseTemplate(t, file)
		for _, row := range rows {
			if got := tmpl.at(row[0]); got.spelt() != row[1] {
				got.errorf(t, "%s is %q, want %q: %s", row[0], got.spelt(), row[1], row[2])
			}
		}
	}
}

func TestNoParameterIsSentInTheClearOrShown(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for key, p := range tmpl.at("Parameters").pairs() {
		pattern, err := regexp.Compile(p.at("AllowedPattern").text())
		if strings.HasSuffix(key.Value, "Url") || strings.HasSuffix(key.Value, "Issuer") {
			if err != nil || pattern.MatchString("http://x.example/") || !pattern.MatchString("https://x.example/") {
				p.errorf(t, "%s takes what is not https", key.Value)
			}
		}
		if strings.Contains(key.Value, "Secret") {
			p.expect(t, "NoEcho", "true")
			if slices.Contains(tmpl.at("Outputs").references(), key.Value) || slices.Contains(tmpl.at("Metadata").references(), key.Value) {
				p.errorf(t, "%s is given out", key.Value)
			}
		}
	}
}

// A function's name in the place of another's would watch that one twice.
func TestTheAlarmsAreGivenWhatTheyTake(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	given := tmpl.at("Resources.Alarms.Properties.Parameters")
	for key := range parseTemplate(t, alarmsFile).at("Parameters").pairs() {
		want := key.Value
		if want == "Stack" {
			want = "AWS::StackName"
		}
		if is := given.at(key.Value); !slices.Contains(is.references(), want) && is.target() != want {
			given.errorf(t, "the alarms do not take %s for %s", want, key.Value)
		}
	}
}

// existing is what stands for each reference to the stack's own table if there is an existing one.
var existing = map[string]string{
	"!Ref LedgerTable":              "!Ref ExistingTable",
	"!GetAtt LedgerTable.Arn":       "!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ExistingTable}",
	"!GetAtt LedgerTable.StreamArn": "!Sub ${ExistingTableStreamArn}",
}

func TestAnExistingTableTakesThePlaceOfTheStacksOwn(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	choices := 0
	var visit func(n node)
	visit = func(n node) {
		switch {
		case n.Tag == "!If" && n.at("0").text() == "HasOwnTable":
			choices++
			if want := existing[n.at("1").spelt()]; want == "" || n.at("2").spelt() != want {
				n.errorf(t, "%s is %s with an existing table, want %s", n.at("1").spelt(), n.at("2").spelt(), want)
			}
		case existing[n.spelt()] != "":
			n.errorf(t, "%s is not there with an existing table", n.spelt())
		default:
			for _, c := range n.Content {
				visit(node{c, n.file})
			}
		}
	}
	visit(tmpl.node)
	if least := 2 * len(tmpl.functions()); choices < least {
		t.Errorf("%d references to the table, want at least %d", choices, least)
	}
}
