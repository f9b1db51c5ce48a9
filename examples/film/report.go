package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// report prints the result and writes it to the file that -o names.
func (o *options) report(c cli.Console, out hierarchy.Outcome) error {
	for _, r := range out.Reports {
		department(c, r)
	}
	if out.Checks.CrossDepartment == "failed" || out.Checks.Consistency == "failed" {
		c.Print("\nchecks\n")
		for _, i := range out.Checks.Issues {
			c.Print("  %s: %s\n", i.Department, i.Message)
		}
	}
	for _, w := range out.Warnings {
		c.Print("\n%s: %s\n", strings.TrimSpace(w.Code+" "+w.Who), w.Message)
	}
	if result := hierarchy.Text(out.Output["result"]); result != "" {
		c.Print("\nResult\n%s", cli.Wrap(result, "  "))
	}
	score := "not scored"
	if out.Score != nil {
		score = fmt.Sprintf("overall score %.1f", *out.Score)
	}
	o.Ending(c, out.Outcome, score, out.Elapsed)
	page, err := hierarchy.Page(out)
	if err != nil {
		return err
	}
	return errors.Join(o.page.Write(c, "page", page), o.json.WriteJSON(c, "outcome", out))
}

func department(c cli.Console, r hierarchy.Report) {
	c.Print("\n%s: %s", r.DepartmentName, r.Status)
	if r.Status == hierarchy.DepartmentDone {
		c.Print(", quality %d, %s", r.QualityScore, r.Basis)
	}
	c.Print("\n")
	for _, a := range r.Specialists {
		c.Print("  %s: %s of %.0f: %s\n", a.AgentName, scores(a), a.Threshold, a.ReviewNotes)
	}
	if text := hierarchy.Text(r.Output); text != "" {
		c.Print("%s", cli.Wrap(text, "  "))
	}
}

// scores are those of all attempts.
func scores(a hierarchy.SpecialistResult) string {
	var all []string
	for _, t := range a.Attempts {
		if t.Ungraded != "" {
			all = append(all, "not graded")
			continue
		}
		all = append(all, fmt.Sprintf("%.0f", t.Score))
	}
	if len(all) == 0 {
		return "no attempt"
	}
	return strings.Join(all, ", then ")
}
