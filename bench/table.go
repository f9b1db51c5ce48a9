package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// table is what was measured, row by row.
type table struct {
	pairs int
	rows  []row
}

type row struct {
	what, got, want, ours, limit string
	met                          bool
}

func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "measured\tresult\ttarget\t\tours\tlimit")
	met := 0
	for _, r := range t.rows {
		mark := "met"
		switch {
		case r.want == "":
			mark = ""
			met++
		case r.met:
			met++
		default:
			mark = "MISSED"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.got, r.want, mark, r.ours, r.limit)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(out, "\n%d of %d targets missed\n", len(t.rows)-met, len(t.rows))
}

// ratio adds how many times the limit ours takes: at most want.
func (t *table) ratio(what string, p pair, want float64) {
	t.rows = append(t.rows, row{
		what: what, got: fmt.Sprintf("%.2f x", p.ratio), ours: short(p.ours), limit: short(p.limit),
		want: fmt.Sprintf("<= %.2f x", want), met: p.ratio <= want,
	})
}

// times adds how many times as long as least ours takes: at most want.
func (t *table) times(what string, p pair, least time.Duration, want float64) {
	got := float64(p.ours) / float64(least)
	t.rows = append(t.rows, row{
		what: what, got: fmt.Sprintf("%.2f x", got), ours: short(p.ours), limit: short(p.limit),
		want: fmt.Sprintf("<= %.2f x", want), met: got <= want,
	})
}

// within adds a time: at most want.
func (t *table) within(what string, p pair, want time.Duration) {
	r := row{what: what, got: short(p.ours), want: "<= " + short(want), ours: short(p.ours), met: p.ours <= want}
	if p.limit > 0 {
		r.limit = short(p.limit)
	}
	t.rows = append(t.rows, r)
}

// atLeast adds a figure that shall not be below want.
func (t *table) atLeast(what string, got, want float64, unit string) {
	form := "%.1f%s"
	if got >= 1000 {
		form = "%.0f%s"
	}
	t.rows = append(t.rows, row{what: what, got: fmt.Sprintf(form, got, unit), want: fmt.Sprintf(">= %.0f%s", want, unit), met: got >= want})
}

// atMost adds a figure that shall not be above want.
func (t *table) atMost(what string, got, want float64, unit string) {
	t.rows = append(t.rows, row{what: what, got: fmt.Sprintf("%.1f%s", got, unit), want: fmt.Sprintf("<= %.1f%s", want, unit), met: got <= want})
}

// shown adds a figure without a target.
func (t *table) shown(what, got string) { t.rows = append(t.rows, row{what: what, got: got}) }

// short is d with three digits.
func short(d time.Duration) string {
	switch {
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= 100*time.Microsecond:
		return d.Round(time.Microsecond).String()
	case d >= time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	}
	return d.String()
}
