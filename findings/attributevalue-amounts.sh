#!/bin/bash
# Amounts of money and large numbers of Go's libraries, put into DynamoDB's items by AWS's attributevalue.
#
# One would guess: what writes itself as text or JSON (encoding.TextMarshaler, as encoding/json takes it) is stored as that text, or is an error.
# It is so: unless an option says otherwise, a type whose fields are not exported is an empty map, without an error, and is read back as 0: the amount of each
# refund is lost when it is stored. So it is with shopspring/decimal, math/big, bojanz/currency, go-money and netip.
# With EncoderOptions.UseEncodingMarshalers (and UseEncodingUnmarshalers to read)
# - a decimal is a text, so that DynamoDB cannot add to it and compares it character by character, and a currency.Amount is bytes;
# - go-money's Money, which has MarshalJSON alone, is still an empty map, and so is a big.Int that is no pointer, as in JSON;
# - a uuid.UUID, whose 16 bytes were well without the option, is a text: as a key it is another one.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/Rhymond/go-money"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/bojanz/currency"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

func told(value types.AttributeValue, err error) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberM:
		return fmt.Sprintf("map of %d, %v", len(v.Value), err)
	case *types.AttributeValueMemberS:
		return fmt.Sprintf("text %s, %v", v.Value, err)
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("%d bytes, %v", len(v.Value), err)
	}
	return fmt.Sprintf("%T, %v", value, err)
}

func main() {
	amount, _ := currency.NewAmount("14.99", "CNY")
	whole := big.NewInt(523415642750058497)
	for _, value := range []any{
		decimal.RequireFromString("14.99"), whole, *whole, big.NewRat(1499, 100), amount, money.New(1499, "CNY"),
		netip.MustParseAddr("127.0.0.1"), uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
	} {
		text, _ := json.Marshal(value)
		fmt.Printf("%T, JSON %s: %s; with the option: %s\n", value, text, told(attributevalue.Marshal(value)),
			told(attributevalue.MarshalWithOptions(value, func(o *attributevalue.EncoderOptions) { o.UseEncodingMarshalers = true })))
	}
	type refund struct{ Amount decimal.Decimal }
	item, err := attributevalue.MarshalMap(refund{decimal.RequireFromString("14.99")})
	var again refund
	fmt.Println("a refund of 14.99:", err, attributevalue.UnmarshalMap(item, &again), again.Amount)
}
EOF2
{
	go mod init try
	go get github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue@v1.21.21 github.com/shopspring/decimal@v1.4.0 \
		github.com/bojanz/currency@v1.4.2 github.com/Rhymond/go-money@v1.0.15 github.com/google/uuid@v1.6.0
	go mod tidy
} >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.21.21
decimal.Decimal, JSON "14.99": map of 0, <nil>; with the option: text 14.99, <nil>
*big.Int, JSON 523415642750058497: map of 0, <nil>; with the option: text 523415642750058497, <nil>
big.Int, JSON {}: map of 0, <nil>; with the option: map of 0, <nil>
*big.Rat, JSON "1499/100": map of 0, <nil>; with the option: text 1499/100, <nil>
currency.Amount, JSON {"number":"14.99","currency":"CNY"}: map of 0, <nil>; with the option: 8 bytes, <nil>
*money.Money, JSON {"amount":1499,"currency":"CNY"}: map of 0, <nil>; with the option: map of 0, <nil>
netip.Addr, JSON "127.0.0.1": map of 0, <nil>; with the option: text 127.0.0.1, <nil>
uuid.UUID, JSON "f47ac10b-58cc-4372-a567-0e02b2c3d479": 16 bytes, <nil>; with the option: text f47ac10b-58cc-4372-a567-0e02b2c3d479, <nil>
a refund of 14.99: <nil> <nil> 0
EOF2
)
