package httpapi

import (
	"encoding/base64"
	"encoding/hex"
	"mime"
	"strconv"
	"strings"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// MaxBody is the longest request body, in bytes.
const MaxBody = 1 << 10

// Request holds the fields we use of API Gateway's event, payload format 2.0.
type Request struct {
	RouteKey string `json:"routeKey"` // like "POST /sales/{saleId}/orders"
	// Sub is the sub claim of the token that the gateway verified; empty if there is
	// none.
	Sub  string `json:"-"`
	Path struct {
		SaleID   string `json:"saleId"`
		GroupID  string `json:"groupId"`
		OrderID  string `json:"orderId"`
		Provider string `json:"provider"`
		Page     string `json:"page"`
	} `json:"pathParameters"` // unvalidated
	Headers         RequestHeaders `json:"headers"`
	Body            string         `json:"body"`
	IsBase64Encoded bool           `json:"isBase64Encoded"`
}

// User returns the caller: the sub of the token that the gateway verified, and nothing
// else (P12). It fails with sale.Unauthorized when there is none, and with
// sale.InvalidRequest when it is not a valid user id.
func User(r *Request) (string, error) {
	if r.Sub == "" {
		return "", sale.Refuse(sale.Unauthorized, "the request carries no verified user")
	}
	if !sale.AdmitsUser(r.Sub) {
		return "", sale.Refuse(sale.InvalidRequest, "the token's sub must be 1 to 128 printable characters, "+
			"or up to 255 of ASCII, without a blank at either end")
	}
	return r.Sub, nil
}

// SaleID returns the path's sale id, or sale.InvalidRequest.
func SaleID(r *Request) (string, error) { return validID("sale", r.Path.SaleID) }

// GroupID returns the path's group id, or sale.InvalidRequest.
func GroupID(r *Request) (string, error) { return validID("group", r.Path.GroupID) }

func validID(of, id string) (string, error) {
	if !sale.ValidID(id) {
		return "", sale.Refuse(sale.InvalidRequest, "a "+of+" id is 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
	}
	return id, nil
}

// UserAndSale returns the caller and the path's sale id, or the error of User or SaleID.
func UserAndSale(r *Request) (user, saleID string, err error) {
	if user, err = User(r); err != nil {
		return "", "", err
	}
	saleID, err = SaleID(r)
	return user, saleID, err
}

// OrderID returns the path's order id, or sale.InvalidRequest.
func OrderID(r *Request) (uint64, error) {
	id, err := orderid.Parse(r.Path.OrderID)
	if err != nil {
		return 0, sale.Refuse(sale.InvalidRequest, "an order id is a decimal number of up to 19 digits")
	}
	return id, nil
}

// RollPage returns the number of the path's page of a roll, or sale.InvalidRequest.
func RollPage(r *Request) (byte, error) {
	b, err := hex.DecodeString(r.Path.Page)
	if err != nil || len(b) != 1 || hex.EncodeToString(b) != r.Path.Page {
		return 0, sale.Refuse(sale.InvalidRequest, "a page of a roll is two digits of 0-9 and a-f")
	}
	return b[0], nil
}

// IdempotencyKey returns the Idempotency-Key header, "" if there is none. It may be
// quoted, as a structured-field string is, or bare. It fails with sale.InvalidRequest
// for anything but a valid id.
func IdempotencyKey(r *Request) (string, error) {
	key, given := r.Headers["idempotency-key"]
	if !given {
		return "", nil
	}
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	if !sale.ValidID(key) {
		return "", sale.Refuse(sale.InvalidRequest,
			"an Idempotency-Key is 1 to 64 characters of A-Z, a-z, 0-9, _ and -, quoted or bare")
	}
	return key, nil
}

// Body returns the body as it was sent. It fails with sale.BodyTooLarge if that has more
// bytes than limit, and with sale.InvalidRequest if it is not valid base64 although the
// event says so.
func Body(r *Request, limit int) (string, error) {
	body := r.Body
	if r.IsBase64Encoded {
		if base64.StdEncoding.DecodedLen(len(body)) > limit+2 {
			return "", tooLarge(limit)
		}
		decoded, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return "", sale.Refuse(sale.InvalidRequest, "the body is not valid base64")
		}
		body = string(decoded)
	}
	if len(body) > limit {
		return "", tooLarge(limit)
	}
	return body, nil
}

// JSONBody is Body for JSON: it also fails with sale.UnsupportedMediaType for a content type
// other than application/json.
func JSONBody(r *Request, limit int) (string, error) {
	body, err := Body(r, limit)
	if err != nil {
		return "", err
	}
	if declared, given := r.Headers["content-type"]; given && declared != jsonMedia {
		media, _, err := mime.ParseMediaType(declared)
		if err != nil || media != jsonMedia {
			return "", sale.Refuse(sale.UnsupportedMediaType, "the content type must be application/json")
		}
	}
	return body, nil
}

// EmptyBody accepts a request without content: no body, whatever type clients declare it
// to be, or an empty JSON object. It fails with sale.BodyTooLarge over 1 KiB, with
// sale.UnsupportedMediaType for a content type other than application/json, otherwise with
// sale.InvalidRequest.
func EmptyBody(r *Request) error {
	if r.Body == "" {
		return nil
	}
	body, err := JSONBody(r, MaxBody)
	if err != nil {
		return err
	}
	if !IsEmptyObject(body) {
		return sale.Refuse(sale.InvalidRequest, "the body must be absent or an empty JSON object")
	}
	return nil
}

// IsEmptyObject reports whether a JSON text is an object without members.
func IsEmptyObject(text string) bool {
	inner, opened := strings.CutPrefix(strings.Trim(text, jsonSpace), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	return opened && closed && strings.Trim(inner, jsonSpace) == ""
}

const (
	jsonMedia = "application/json"
	jsonSpace = " \t\r\n"
)

func tooLarge(limit int) error {
	return sale.Refuse(sale.BodyTooLarge, "the body must not be longer than "+strconv.Itoa(limit)+" bytes")
}
