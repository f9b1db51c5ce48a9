package main

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/director"
)

// report prints the result of the run and writes the file that -json names.
func (o *options) report(c cli.Console, out director.Outcome) error {
	if out.Board != nil {
		c.Print("\ntasks\n")
		for _, t := range out.Board.Tasks {
			c.Print("  %-13s %-12s %s\n", t.Status, t.ID, standing(t, out.Board))
		}
		c.Print("\ndecisions\n")
		for _, d := range out.Board.DesignLog {
			c.Print("  %s: %s\n", d.Area, cli.Clip(d.Summary, 200))
		}
	}
	for _, w := range out.Warnings {
		c.Print("warning: %s: %s\n", w.Code, cli.Clip(w.Message, 300))
	}
	c.Print("\nthe repository: %s\n  git -C %s log --graph --oneline\n", o.dir, quoted(o.dir))
	if out.Summary[blackboard.Complete] > 0 {
		c.Print("  (cd %s && go test ./... && go run .)\n", quoted(o.dir))
	}
	o.Ending(c, out.Outcome, fmt.Sprintf("%d of %d tasks complete", out.Summary[blackboard.Complete], total(out)), out.Elapsed)
	return o.json.WriteJSON(c, "the outcome", out)
}

func total(out director.Outcome) (n int) {
	for _, count := range out.Summary {
		n += count
	}
	return n
}

// quoted is a folder, quoted for a command line.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t\n'\"$`\\*?[](){}<>|&;#~!") {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}
