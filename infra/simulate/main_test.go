package simulate

import (
	"flag"
	"os"
	"testing"
)

var (
	faults   = flag.Int("faults", defaultFaults, "how many faults a plan of the enumeration has at most")
	overlap  = flag.Bool("overlap", false, "let another's request overlap besides that many faults, instead of standing for one")
	seeds    = flag.Int("seeds", defaultSeeds, "how many random sales are simulated")
	seed     = flag.Uint64("seed", 0, "simulate the sale of this seed only")
	first    = flag.Uint64("first", 1, "the first seed, to divide many of them among runs")
	progress = flag.Bool("progress", false, "tell how far the simulation has come")
)

func TestMain(m *testing.M) {
	flag.Parse()
	prepareProcess()
	os.Exit(m.Run())
}
