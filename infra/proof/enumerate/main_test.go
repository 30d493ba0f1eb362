package enumerate

import (
	"flag"
	"os"
	"testing"

	"flashsale/infra/proof/harness"
)

var (
	faults   = flag.Int("faults", defaultFaults, "how many faults a plan has at most")
	overlap  = flag.Bool("overlap", false, "let another's request overlap besides that many faults, instead of standing for one")
	progress = flag.Bool("progress", false, "tell how many plans each scenario has")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.PrepareProcess()
	os.Exit(m.Run())
}
