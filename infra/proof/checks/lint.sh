#!/usr/bin/env bash
# Lints the templates with every rule of cfn-lint, the informational ones
# included: as they are written, and once more what SAM makes of the first, with
# its defaults, with everything switched on, and with an existing table and issuers of one's own. What is not installed is named.
set -euo pipefail
cd "$(dirname "$0")/../../.."
templates=(template.yaml infra/front.yaml infra/alarms.yaml infra/ops/consumers/forwarder/template.yaml)

lint=$(command -v cfn-lint) || {
	echo "cfn-lint is not installed: no template was linted (pip install cfn-lint)"
	exit 0
}
cfn-lint --include-checks I -- "${templates[@]}"
echo "cfn-lint: ${templates[*]} are clean, informational rules included"

# cfn-lint brings the translator along, maybe in an environment of its own.
own=$(head -n 1 "$lint" | tr -d '\000')
python=
for candidate in python3 "${own#\#!}"; do
	if $candidate -c 'import samtranslator' 2>/dev/null; then
		python=$candidate
		break
	fi
done
if [ -z "$python" ]; then
	echo "SAM's translator is not installed: its output was not linted (pip install aws-sam-translator)"
	exit 0
fi

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
ln -s "$PWD/infra" "$made/infra" # the nested template is named from where it lies
everything=(
	CreateUserPool=true PageOrigin=https://shop.example SignInDomainPrefix=shop-example CreateFront=true DeploymentType=Canary10Percent5Minutes CorsAllowedOrigins=https://a.example,https://b.example
	WarmWriteUnitsPerSecond=40000 MaxWriteRequestUnits=40000 PurchaseReservedConcurrency=500
	PurchaseProvisionedConcurrency=300 "WarmFrom=cron(45 11 11 11 ? *)" "WarmUntil=cron(0 14 11 11 ? *)"
	DomainName=shop.example CertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a
	EligibilityUrl=https://eligible.example PublishEvents=true AlarmEmail=alarms@shop.example MonthlyBudget=200
	RefundKeysArn=arn:aws:secretsmanager:us-east-1:123456789012:secret:refunds-AbC123
)
$python infra/proof/checks/translate.py template.yaml >"$made/defaults.json"
$python infra/proof/checks/translate.py template.yaml "${everything[@]}" >"$made/everything.json"
$python infra/proof/checks/translate.py template.yaml PublishEvents=true JwtIssuer=https://id.example JwtAudience=shop CreateOperatorApi=true \
	SignInAuthorizeUrl=https://id.example/authorize SignInTokenUrl=https://id.example/token SignInClientId=shop \
	OperatorIssuer=https://staff.example OperatorAudience=staff OperatorSignInAuthorizeUrl=https://staff.example/authorize \
	OperatorSignInTokenUrl=https://staff.example/token OperatorSignInClientId=staff PurchaseReservedConcurrency=0 ExistingTable=shop-restored \
	DomainName=api.shop.example CertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a \
	ExistingTableStreamArn=arn:aws:dynamodb:us-east-1:123456789012:table/shop-restored/stream/2026-11-11T12:00:00.000 >"$made/existing.json"
cfn-lint --include-checks I -- "$made"/*.json
echo "cfn-lint: what SAM translates template.yaml to is clean, too"
