// Command trace counts the functions that one call of an agent passes, in memory and on
// SQLite, and prints them by package:
//
//	go run ./trace
//
// It builds itself from a copy of the code in which every function of this repository
// begins with a note of its name (an overlay of go build: nothing in the checkout
// changes). That program, as "trace walk", makes two calls and prints the functions of
// the second: each once, on whatever goroutine. Function literals are not counted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// trace is the way of one call.
type trace struct {
	store     string
	functions []string // "package function", in the order of first entry
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "trace:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == "walk" {
		entered, err := walk(ctx, args[1])
		fmt.Println(strings.Join(entered, "\n"))
		return err
	}
	traces, err := measure(ctx)
	if err != nil {
		return err
	}
	fmt.Println(summary(traces))
	return nil
}

// measure traces a call in memory and one on SQLite, with the go command.
func measure(ctx context.Context) ([]trace, error) {
	work, err := os.MkdirTemp("", "trace")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	program, err := build(ctx, work)
	if err != nil {
		return nil, err
	}
	memory, err := follow(ctx, program, "")
	if err != nil {
		return nil, err
	}
	sqlite, err := follow(ctx, program, filepath.Join(work, "walk.db"))
	if err != nil {
		return nil, err
	}
	return []trace{{"memory", memory}, {"SQLite", sqlite}}, nil
}

// follow runs "trace walk" of the program with notes and returns what it prints.
func follow(ctx context.Context, program, file string) ([]string, error) {
	cmd := exec.CommandContext(ctx, program, "walk", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("trace walk %q: %w", file, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// packages are the packages of the trace, in the order in which it enters them.
func (t trace) packages() (names []string) {
	for _, function := range t.functions {
		name, _, _ := strings.Cut(function, " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// String lists the functions by package.
func (t trace) String() string {
	out := new(strings.Builder)
	fmt.Fprintf(out, "A call in %s, %d functions of %d packages:\n", t.store, len(t.functions), len(t.packages()))
	for _, name := range t.packages() {
		var functions []string
		for _, function := range t.functions {
			if in, rest, _ := strings.Cut(function, " "); in == name {
				functions = append(functions, rest)
			}
		}
		fmt.Fprintf(out, "%4d %s: %s\n", len(functions), name, strings.Join(functions, ", "))
	}
	return out.String()
}

// summary is both traces and their numbers in one line.
func summary(traces []trace) (text string) {
	for _, t := range traces {
		text += t.String()
	}
	memory, sqlite := len(traces[0].functions), len(traces[1].functions)
	return text + fmt.Sprintf("A call passes %d functions in memory, %d on SQLite.", memory, sqlite)
}
