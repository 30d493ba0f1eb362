package assets

import (
	"testing"

	"flashsale/functions/operate/handler"
	"flashsale/shared/webpage/webpagetest"
)

func TestTheOperatorsPageIsSmallAndWhole(t *testing.T) {
	webpagetest.Examine(t, Files, handler.PageData{}, 40<<10, "chart.js", "create.js", "refunds.js")
}
