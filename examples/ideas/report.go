package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// report prints the result and writes the files that -o and -json name.
func (o *options) report(c cli.Console, out discussion.Outcome) error {
	d := out.Discussion
	if ranked := out.Ranked(); len(ranked) > 0 {
		c.Print("\nranking (%.1f is good enough)\n", d.Threshold)
		for place, i := range ranked {
			c.Print("  %2d. %s %s\n", place+1, mark(i), cli.Clip(i.Title, cli.Width-12))
		}
	}
	for _, w := range out.Warnings {
		c.Print("\nwarning: %s\n", cli.Clip(strings.TrimSpace(w.Who+" "+w.Message), 200))
	}
	score := "no score"
	if f := out.FinalIdea; f != nil {
		c.Print("\n%s (%s, chosen by %s)\n%s", f.Title, f.ID, out.SelectedBy, cli.Wrap(f.Description, "  "))
		judgement(c, *f)
		if l := out.LeaderChoice; l != nil && l.ID != f.ID {
			c.Print("  the leader would have chosen %s: %s\n", l.ID, l.Title)
		}
	}
	if out.Score != nil {
		score = fmt.Sprintf("best score %.1f of 10", *out.Score)
		if out.BelowThreshold {
			score += ", below the threshold"
		}
	}
	o.Ending(c, out.Outcome, score, d.Ended.Sub(d.Started))
	return o.write(c, out)
}

func (o *options) write(c cli.Console, out discussion.Outcome) error {
	page, err := discussion.Page(out)
	if err != nil {
		return err
	}
	return errors.Join(o.page.Write(c, "report", page), o.json.WriteJSON(c, "outcome", out))
}

func mark(i discussion.Idea) string {
	if !i.Validated {
		return "  - "
	}
	return fmt.Sprintf("%4.1f", i.Score)
}

func judgement(c cli.Console, f discussion.Idea) {
	if m := f.Criteria; len(m) > 0 {
		c.Print("  feasibility %.1f, innovation %.1f, impact %.1f, clarity %.1f, completeness %.1f\n", m["feasibility"],
			m["innovation"], m["impact"], m["clarity"], m["completeness"])
	}
	for _, text := range f.Pros {
		c.Print("%s", cli.Wrap("+ "+text, "  "))
	}
	for _, text := range f.Cons {
		c.Print("%s", cli.Wrap("- "+text, "  "))
	}
}
