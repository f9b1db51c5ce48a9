// Command bench measures Convene beside the limits of the machine: a goroutine and
// a channel, an errgroup, a bare INSERT. Every ratio is of samples taken in turn in
// one run; compare ratios, not times, and those of one run alone.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// workload measures something and adds rows to the table.
type workload struct {
	name string
	run  func(t *table) error
}

var workloads = []workload{
	{"W1", calls},
	{"W2", fanOut},
	{"W3", refine},
	{"W5", recorded},
	{"W6", waiting},
	{"replay", replays},
}

func main() {
	only := flag.String("only", "", "the workloads to run, such as W1,W5; empty: all")
	samples := flag.Int("samples", 11, "samples of each variant")
	flag.Parse()
	t := &table{samples: max(*samples, 1)}
	for _, w := range workloads {
		if *only != "" && !strings.Contains(","+*only+",", ","+w.name+",") {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", w.name)
		if err := w.run(t); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", w.name, err)
			os.Exit(1)
		}
	}
	fmt.Printf("%s, %s/%s, %d cores, median of %d paired samples\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), t.samples)
	t.print()
}

// table is what was measured, row by row.
type table struct {
	samples int
	rows    []row
}

type row struct {
	what, got, ours, limit, want string
	met                          bool
}

func (t *table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "measured\tresult\ttarget\t\tours\tlimit")
	for _, r := range t.rows {
		mark := "met"
		if !r.met {
			mark = "MISSED"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.got, r.want, mark, r.ours, r.limit)
	}
	_ = w.Flush()
}

// atMost adds a ratio that shall not be above want.
func (t *table) atMost(what string, p pair, want float64) {
	t.rows = append(t.rows, row{
		what: what, got: fmt.Sprintf("%.2f x", p.ratio), ours: p.ours.String(), limit: p.limit.String(),
		want: fmt.Sprintf("<= %.2f x", want), met: p.ratio <= want,
	})
}

// atLeast adds a figure that shall not be below want.
func (t *table) atLeast(what string, got, want float64, unit string) {
	t.rows = append(t.rows, row{what: what, got: fmt.Sprintf("%.0f%s", got, unit), want: fmt.Sprintf(">= %.0f%s", want, unit), met: got >= want})
}

// below adds a figure that shall not be above want.
func (t *table) below(what string, got, want float64, unit string) {
	t.rows = append(t.rows, row{what: what, got: fmt.Sprintf("%.1f%s", got, unit), want: fmt.Sprintf("<= %.1f%s", want, unit), met: got <= want})
}
