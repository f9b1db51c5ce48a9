package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/convene-go/convene/examples/internal/cli"
)

// report prints the result of each project, and writes the file that -json names.
func (o *options) report(c cli.Console, out outcome) error {
	for _, p := range out.Projects {
		score := "no score"
		if p.Score != nil {
			score = fmt.Sprintf("score %.2f", *p.Score)
		}
		c.Print("\n%s: %s, %s, %d rounds, %s\n", p.ID, p.Stage, score, p.Rounds, cli.USD(p.Spent.Cost))
		switch {
		case p.Killed != "":
			c.Print("  killed: %s\n", p.Killed)
		case p.Error != "":
			c.Print("  the last round: %s\n", p.Error)
		}
		if p.Last == nil {
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(p.Last.Files)) {
			c.Print("  %s: %s\n", path, cli.Clip(firstLine(p.Last.Files[path]), cli.Width-len(path)-4))
		}
	}
	for _, w := range out.Warnings {
		c.Print("\nwarning: %s: %s\n", w.Who, w.Message)
	}
	o.Ending(c, out.Outcome, fmt.Sprintf("%d projects", len(out.Projects)), out.Elapsed)
	return o.json.WriteJSON(c, "outcome", out)
}
