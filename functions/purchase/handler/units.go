package handler

import (
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
)

// unitsIn returns how many units the body of a purchase asks for: one if it is absent or an empty object. It fails as
// httpapi.JSONBody does, and with sale.InvalidRequest for anything but a whole number that some sale might allow.
func unitsIn(r *httpapi.Request) (int64, error) {
	if r.Body == "" {
		return 1, nil
	}
	body, err := httpapi.JSONBody(r, httpapi.MaxBody)
	switch {
	case err != nil:
		return 0, err
	case httpapi.IsEmptyObject(body): // as most are: not worth a parser
		return 1, nil
	}
	order := struct {
		Units int64 `json:"units"`
	}{1}
	names, err := jsonread.Flat([]byte(body), &order)
	isKnown := len(names) == 0 || len(names) == 1 && names[0] == "units"
	if err != nil || !isKnown || order.Units < 1 || order.Units > sale.MaxPerOrder {
		return 0, &sale.Error{
			Code: sale.InvalidRequest, Err: err,
			Detail: "the body must be absent, or a JSON object with units, a whole number from 1 to the sale's maxPerOrder",
		}
	}
	return order.Units, nil
}
