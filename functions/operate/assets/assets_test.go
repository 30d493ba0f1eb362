package assets

import (
	"testing"

	"flashsale/shared/webpage"
	"flashsale/shared/webpage/webpagetest"
)

func TestTheOperatorsPageIsSmallAndWhole(t *testing.T) {
	webpagetest.Examine(t, Files, webpage.SignIn{}, 20<<10)
}
