// Command rooms counts the arrows between the files of the engine's rooms. Run it at
// the root of the repository:
//
//	go run ./internal/arch/rooms                              the rooms
//	go run ./internal/arch/rooms orchestrator/internal/sched  other folders, in their order
//
// An arrow is an ordered pair of files: the first uses a name that the second declares,
// be it a function, type, variable, constant, method or field. Tests are not counted.
//
// The comment of a room lists its files as they are read, from the top down:
//
//	// # Files
//	//
//	//   - engine.go: what callers see
//	//   - run.go: one run and its state
//
// A file may use names of files further down, and of rooms further down in the table.
// Every other arrow is backward. A file that holds nothing but the package comment is
// not listed.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// rooms are the folders of the engine, from the top down. All of them stand on the
// goroutines of orchestrator/internal/jobs, which is one file and uses none of them.
var rooms = []string{
	"orchestrator/internal/engine",
	"orchestrator/internal/fleet",
	"orchestrator/internal/crew",
	"orchestrator/internal/journal",
}

// maxArrows is the limit of all rooms together. None may be backward.
const maxArrows = 50

func main() {
	dirs := os.Args[1:]
	if len(dirs) == 0 {
		dirs = existing(".", rooms)
	}
	plan, err := measure(".", dirs)
	if err == nil {
		_, err = fmt.Print(plan) //nolint:forbidigo // a command prints
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1) //nolint:forbidigo // a command ends with its status
	}
}

// existing returns those of the folders that hold Go files.
func existing(root string, dirs []string) (found []string) {
	for _, dir := range dirs {
		if files, _ := filepath.Glob(filepath.Join(root, dir, "*.go")); len(files) > 0 {
			found = append(found, dir)
		}
	}
	return found
}

// measure counts the arrows of the rooms in these folders below root.
func measure(root string, dirs []string) (*plan, error) {
	loaded, err := load(root, dirs)
	if err != nil {
		return nil, err
	}
	return newPlan(loaded), nil
}
