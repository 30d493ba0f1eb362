package engines

import (
	"database/sql"
	"testing"

	"flashsale/infra/lab/shop"
)

// What the replica was cut off from: an asynchronous primary answers it and it is lost, a
// semi-synchronous one does not answer.
func TestADatabasesReplicaTakesOver(t *testing.T) {
	e := running(t, shop.MariaDBPair, installMariaDB)
	if e == nil {
		return
	}
	for _, answered := range []bool{true, false} {
		e.(*mariadbPair).semi = !answered
		if err := e.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("mysql", place(e).MariaDB)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, statement := range []string{"CREATE TABLE a (b INT) ENGINE=InnoDB", "INSERT INTO a VALUES (1)"} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.(*mariadbPair).copied(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.(Ailing).Ail()
		done := make(chan error, 1)
		go func() {
			_, err := db.ExecContext(t.Context(), "INSERT INTO a VALUES (2)")
			done <- err
		}()
		if answered {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		crash(t, e)
		if !answered && <-done == nil {
			t.Error("a commit was answered that the replica does not have")
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT SUM(b) FROM a").Scan(&n); err != nil || n != 1 {
			t.Errorf("after the fail-over the rows add up to %d (%v), want 1", n, err)
		}
		if err := e.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a").Scan(&n); err == nil {
			t.Error("the table is there after a reset")
		}
	}
}
