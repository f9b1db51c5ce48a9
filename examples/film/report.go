package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

// print writes to the console. A console that is closed is no error.
func (s *studio) print(format string, args ...any) {
	_, _ = fmt.Fprint(s.c.out, plain(fmt.Sprintf(format, args...)))
}

// plain is text without what commands a terminal: it may come from a model.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// heading says who plays.
func (s *studio) heading() {
	s.print("request: %s\n", clip(s.o.request))
	if s.o.model == nil {
		s.print("cast: REHEARSAL. No model is asked: the texts are made of the request's words,\n" +
			"the scores come from checks of these texts. -model names a real one (film -h).\n")
		return
	}
	s.print("cast: %s\n", s.o.who())
}

// opening says where the run begins.
func (s *studio) opening(ctx context.Context, run *orchestrator.Run, before past) error {
	switch {
	case before.ended:
		s.print("run %s ended earlier: this is its report from %s (-new starts afresh)\n", run.ID(), s.o.db)
		return nil
	case before.records == 0:
		s.print("run %s in %s\n", run.ID(), s.o.db)
		return nil
	}
	if before.held {
		s.print("another film works on run %s in %s: this one shows it, and resumes it if the other one dies\n", run.ID(), s.o.db)
		return nil
	}
	s.print("resumed run %s with %d recorded answers from %s\n", run.ID(), before.answers, s.o.db)
	info, err := run.Info(ctx)
	if err != nil {
		return err
	}
	if was := info.Labels[limits]; was != s.o.limits() {
		s.print("it keeps the limits that it was started with: %s (-new starts afresh)\n", was)
	}
	return nil
}

// report prints what was made and writes it to the file that -o names.
func (s *studio) report(out hierarchy.Outcome, id string) error {
	for _, r := range out.Reports {
		s.department(r)
	}
	if out.Checks.CrossDepartment == "failed" || out.Checks.Consistency == "failed" {
		s.print("\nchecks\n")
		for _, i := range out.Checks.Issues {
			s.print("  %s: %s\n", i.Department, i.Message)
		}
	}
	for _, e := range out.Errors {
		s.print("\nerror in %s: %s\n", strings.TrimSpace(e.Department+" "+e.Stage), e.Message)
	}
	if result := hierarchy.Text(out.Output["result"]); result != "" {
		s.print("\nResult\n%s", wrap(result))
	}
	score := "not scored"
	if out.Score != nil {
		score = fmt.Sprintf("overall score %.1f", *out.Score)
	}
	s.print("\n%s: %s, %d calls, %s, worked %v\n", out.Status, score, out.Spent.Calls, s.cost(out.Spent), (time.Duration(out.Elapsed) * time.Millisecond).Round(100*time.Millisecond))
	if s.o.model == nil {
		s.print("REHEARSAL: no model wrote or judged any of this.\n")
	}
	if s.o.out == "" {
		return nil
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.o.out, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("-o: %w (run %s is kept: film with the same request and another -o writes it)", err, id)
	}
	s.print("outcome as JSON: %s\n", s.o.out)
	return nil
}

func (s *studio) department(r hierarchy.Report) {
	s.print("\n%s: %s", r.DepartmentName, r.Status)
	if r.Status == hierarchy.Done {
		s.print(", quality %d, %s", r.QualityScore, r.Basis)
	}
	for _, f := range r.Flags {
		s.print(", %s", f)
	}
	s.print("\n")
	for _, a := range r.Specialists {
		s.print("  %s: %s of %.0f: %s\n", a.AgentName, scores(a), a.Threshold, a.ReviewNotes)
	}
	if text := hierarchy.Text(r.Output); text != "" {
		s.print("%s", wrap(text))
	}
}

// scores are those of all attempts.
func scores(a hierarchy.SpecialistResult) string {
	var all []string
	for _, t := range a.Attempts {
		all = append(all, fmt.Sprintf("%.0f", t.Score))
	}
	if len(all) == 0 {
		return "no attempt"
	}
	return strings.Join(all, ", then ")
}

func (s *studio) cost(u providers.Usage) string {
	switch {
	case s.o.model == nil:
		return "no cost"
	case u.Unpriced > 0:
		return fmt.Sprintf("at least %s (%d calls without a known price), %d tokens", usd(u.Cost), u.Unpriced, u.Input+u.Output)
	default:
		return fmt.Sprintf("%s, %d tokens", usd(u.Cost), u.Input+u.Output)
	}
}

func usd(n providers.NanoUSD) string {
	return fmt.Sprintf("%.4f USD", float64(n)/float64(providers.USD))
}

// clip shows a long request by its beginning.
func clip(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// wrap breaks a text into indented lines.
func wrap(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line := " "
		for w := range strings.FieldsSeq(paragraph) {
			if len(line)+1+len(w) > width && line != " " {
				b.WriteString(line + "\n")
				line = " "
			}
			line += " " + w
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
