package trial

import (
	"context"
	"net"
	"testing"

	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
)

func TestEveryFifthAnswerIsLostAfterItWasGiven(t *testing.T) {
	engine, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	asked := make(chan byte, 100)
	go func() {
		for {
			c, err := engine.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				one := make([]byte, 1)
				for {
					if _, err := c.Read(one); err != nil {
						return
					}
					asked <- one[0]
					if _, err := c.Write(one); err != nil {
						return
					}
				}
			}()
		}
	}()
	p, l, err := between(shop.Place{Redis: []string{engine.Addr().String()}, MariaDB: "root@tcp(" + engine.Addr().String() + ")/lab", DynamoDB: "http://" + engine.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if p.Redis[0] == engine.Addr().String() || p.MariaDB == "root@tcp("+engine.Addr().String()+")/lab" || p.DynamoDB == "http://"+engine.Addr().String() {
		t.Fatalf("the place leads past the line: %+v", p)
	}
	l.begin()
	lost := 0
	for i := range 2 * lossyAnswers {
		c, err := net.Dial("tcp", p.Redis[0])
		if err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 1)
		if _, err := c.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(answer); err != nil {
			lost++
		}
		c.Close()
		if got := <-asked; got != byte(i) {
			t.Fatalf("the engine was asked %d, want %d", got, i)
		}
	}
	if want := lossyAnswers / lossyEvery; lost != want {
		t.Errorf("%d answers were lost, want %d", lost, want)
	}
}

func TestThePeakCountsWhatIsAcceptedAndWhatIsDurable(t *testing.T) {
	lab := laboratory(t)
	spec, _ := shops("late")
	sc := crowded()
	sc.Peak, sc.Stock = 50e6, 1<<20
	row, err := lab.Run(t.Context(), spec, sc, 1)
	if err != nil || row.Sold == 0 || row.Lost != 0 || row.PerSecond < row.DurablePerSecond || row.DurablePerSecond == 0 || row.DurableAfterMs == 0 || row.P99Ms < row.P50Ms {
		t.Errorf("row %+v (%v), want orders that follow their answers", row, err)
	}
	spec, _ = shops("refusing")
	if row, err := lab.Run(t.Context(), spec, sc, 1); err == nil {
		t.Errorf("row %+v of a shop that sells nothing", row)
	}
}

func TestAnAnswerToBeLostIsAccidentLikeOthers(t *testing.T) {
	sc := crowded(scenario.Fault{Do: scenario.LoseAnswers, When: []scenario.Trigger{{Share: 0.5}}})
	if !sc.Meets(scenario.LoseAnswers) {
		t.Error("the scenario loses no answers")
	}
	n := newNemesis(context.Background(), shop.Spec{}, sc, nil)
	n.lossy = &lossy{}
	n.answered(2, 4)
	if err := n.rest(); err != nil || n.lossy.answers.Load() != lossyAnswers {
		t.Errorf("%d answers are to be lost, %v", n.lossy.answers.Load(), err)
	}
}
