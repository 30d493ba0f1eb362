package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/currency"
)

// format is how a language writes money and instants. formats.mjs has made formats.json, and says what its members are.
type format struct {
	Money struct {
		Group, Decimal string
		GroupsFrom     int                  // digits that a whole number needs to be grouped
		Usual          [2]string            // what precedes and follows an amount, {0} being the code
		Signs          map[string][2]string // the same of the currencies that have a sign
	}
	Instant struct {
		Pattern         string     // {0} the year, {1} the month, {2} the day, {3} the time, {4} the zone
		Times           [24]string // by the hour, {0} being the minute
		Months          [12]string
		Years           int    // from the Gregorian calendar's to the language's, which is the Buddhist one in Thai
		UTC, East, West string // zones, {0} being the hours
		Half            string // between hours and minutes of a zone
	}
}

//go:embed formats.json
var formatsFile []byte

var formats = parsed[map[string]format](formatsFile)

// parsed reads a file of this package.
func parsed[T any](file []byte) (into T) {
	if err := json.Unmarshal(file, &into); err != nil {
		panic(err)
	}
	return into
}

// fill replaces {0}, {1} and so on.
func fill(text string, values ...string) string {
	for i, value := range values {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", i), value)
	}
	return text
}

// money writes an amount in minor units; "" of a currency that is not known.
func (f format) money(amount int64, code string) string {
	text, known := currency.Decimal(amount, code)
	if !known {
		return ""
	}
	whole, fraction, parts := strings.Cut(text, ".")
	if len(whole) >= f.Money.GroupsFrom {
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + f.Money.Group + whole[at:]
		}
	}
	if parts {
		whole += f.Money.Decimal + fraction
	}
	around, has := f.Money.Signs[code]
	if !has {
		around = [2]string{fill(f.Money.Usual[0], code), fill(f.Money.Usual[1], code)}
	}
	return around[0] + whole + around[1]
}

// instant writes an instant to the minute, with its zone.
func (f format) instant(at time.Time) string {
	_, offset := at.Zone()
	zone, hours := f.Instant.UTC, time.Duration(max(offset, -offset))*time.Second
	name := strconv.Itoa(int(hours.Hours()))
	if minutes := int(hours.Minutes()) % 60; minutes > 0 {
		name += fmt.Sprintf("%s%02d", f.Instant.Half, minutes)
	}
	switch {
	case offset > 0:
		zone = fill(f.Instant.East, name)
	case offset < 0:
		zone = fill(f.Instant.West, name)
	}
	return fill(f.Instant.Pattern, strconv.Itoa(at.Year()+f.Instant.Years), f.Instant.Months[at.Month()-1],
		strconv.Itoa(at.Day()), fill(f.Instant.Times[at.Hour()], fmt.Sprintf("%02d", at.Minute())), zone)
}
