package main

import (
	"path/filepath"

	"flashsale/infra/local/child"
)

// engine is the kind of the DynamoDB engine's process.
const engine = "engine"

// victim is a child process of the stack.
type victim struct {
	child.Running
	kind string // a function's name, or engine
}

// victims lists the functions' processes and the engine's among a process's children.
func victims(parent int) ([]victim, error) {
	all, err := child.Children(parent)
	if err != nil {
		return nil, err
	}
	var found []victim
	for _, r := range all {
		switch program := r.Program(); filepath.Base(program) {
		case "bootstrap":
			found = append(found, victim{r, filepath.Base(filepath.Dir(program))})
		case "dynoxide":
			found = append(found, victim{r, engine})
		}
	}
	return found, nil
}
