package checks

import (
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// executions are the operations that run PartiQL statements. None of them is an IAM
// action: each statement needs the action of its first word.
var executions = []string{
	"dynamodb:ExecuteStatement", "dynamodb:BatchExecuteStatement", "dynamodb:ExecuteTransaction",
}

var firstWords = map[string]string{
	"INSERT": "dynamodb:PartiQLInsert", "UPDATE": "dynamodb:PartiQLUpdate",
	"DELETE": "dynamodb:PartiQLDelete", "SELECT": "dynamodb:PartiQLSelect",
}

// statementText matches a PartiQL statement, or its beginning.
var statementText = regexp.MustCompile(`(?is)^\s*(?:(insert)\s+into\s|(update)\s+(?:"|\S+\s+(?:set|remove)\s)|(delete)\s+from\s|(select)\s.*\sfrom\s)`)

// statementAction returns the IAM action needed to run a text as a statement; "" if it
// is not a statement.
func statementAction(text string) string {
	for i, word := range statementText.FindStringSubmatch(text) {
		if i > 0 && word != "" {
			return firstWords[strings.ToUpper(word)]
		}
	}
	return ""
}

// execute replaces the execution operations by the actions of the statements.
func (w *walk) execute() {
	for _, execution := range executions {
		at, executes := w.found.actions[execution]
		if !executes {
			continue
		}
		delete(w.found.actions, execution)
		if len(w.texts) == 0 {
			w.t.Errorf("%s: runs statements that are written out nowhere", w.position(at))
		}
		for action, at := range w.texts {
			w.found.actions[action] = at
		}
	}
}

// text records the action that a text needs if it is a statement.
func (w *walk) text(text string, at token.Pos) {
	if action := statementAction(text); action != "" {
		w.texts[action] = at
	}
}

func TestStatementsNeedTheActionOfTheirFirstWord(t *testing.T) {
	for text, want := range map[string]string{
		`UPDATE "T" SET a = ?`:       "dynamodb:PartiQLUpdate",
		`UPDATE "`:                   "dynamodb:PartiQLUpdate",
		"update t\n remove a where":  "dynamodb:PartiQLUpdate",
		` INSERT INTO "`:             "dynamodb:PartiQLInsert",
		"Delete From T WHERE pk = ?": "dynamodb:PartiQLDelete",
		`SELECT * FROM "T"`:          "dynamodb:PartiQLSelect",
		"update shard: %w":           "",
		"select a shard":             "",
		"SET #orderId = :orderId":    "",
		`"UPDATE"`:                   "",
		"insert into":                "",
	} {
		if got := statementAction(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
