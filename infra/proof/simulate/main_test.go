package simulate

import (
	"flag"
	"os"
	"testing"

	"flashsale/infra/proof/harness"
)

var (
	seeds    = flag.Int("seeds", defaultSeeds, "how many random sales are simulated")
	seed     = flag.Uint64("seed", 0, "simulate the sale of this seed only")
	first    = flag.Uint64("first", 1, "the first seed, to divide many of them among runs")
	progress = flag.Bool("progress", false, "tell how far the simulation has come")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.PrepareProcess()
	os.Exit(m.Run())
}
