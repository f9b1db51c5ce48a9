package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// report prints the result of the run and writes the file that -json names.
func (o *options) report(c cli.Console, out delivery.Outcome) error {
	c.Print("\nsteps\n")
	for _, p := range out.State.Plans {
		if p.ParentPlanID == "" && p.Approved {
			walk(out.State, p, func(s delivery.Step) {
				text := status(s) + " " + title(s)
				if s.FailReason != "" {
					text += ": " + cli.Clip(s.FailReason, 400)
				}
				c.Print("%s", cli.Wrap(text, strings.Repeat("  ", s.Depth+1)))
			})
		}
	}
	m := out.State.Metrics
	c.Print("\n%d of %d steps completed, %d verdicts passed, %d rejected, %d fixes\n", m.CompletedSteps, m.TotalSteps, m.VerificationsPassed, m.VerificationsFailed, m.FixCycles)
	for _, w := range out.Warnings {
		c.Print("warning: %s\n", cli.Clip(w.Message, 400))
	}
	score := "the goal was not judged"
	if v := goal(out); v != nil {
		c.Print("\ngoal\n%s", cli.Wrap(cli.Clip(v.Reason, 600), "  "))
		for _, e := range v.Evidence {
			c.Print("%s", cli.Wrap("- "+cli.Clip(e, 200), "  "))
		}
	}
	if out.Score != nil {
		score = fmt.Sprintf("goal score %.4g", *out.Score)
	}
	took := out.Elapsed
	if end := out.State.EndTime; end != nil {
		took = end.Sub(out.State.StartTime)
	}
	if out.State.Snapshot != "" {
		c.Print("\nthe project is in %s: cd %s && GOWORK=off go test ./...\n", o.shown(), o.shown())
	}
	o.Ending(c, out.Outcome, score, took)
	return o.json.WriteJSON(c, "outcome", out)
}

// shown is the project's folder as a path from the current one.
func (o *options) shown() string {
	here, err := filepath.Abs(".")
	if err != nil {
		return o.dir
	}
	if rel, err := filepath.Rel(here, o.dir); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return o.dir
}

// goal is the last verdict on the goal; nil: there is none.
func goal(out delivery.Outcome) (last *delivery.Verdict) {
	for i, v := range out.Report.Verdicts {
		if v.Kind == "goal" {
			last = &out.Report.Verdicts[i]
		}
	}
	return last
}

// writePage writes the page that -page names.
func (o *options) writePage(c cli.Console, out delivery.Outcome) error {
	if o.page.Path == "" {
		return nil
	}
	page, err := delivery.Page(out)
	if err != nil {
		return errors.Join(errors.New("-page"), err)
	}
	return o.page.Write(c, "page", page)
}
