// Command peers measures the same work on Convene and on other libraries for agents
// in Go, in one run: W1 to W6 of the table in ../. Each is written as its users
// would write it. See README.md for what can be compared with what.
//
//	GOWORK=off go run . -only W1,W2 -samples 7
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// variant is some work on one library.
type variant struct {
	name string

	// build prepares n times the work, and returns a function that does it.
	build func(n int) (func(context.Context) error, error)

	// process, if it is set, takes the sample instead of build, and returns a note beside
	// the time.
	process func() (time.Duration, string, error)
}

// workload is the same work on several libraries. The first variant is the limit,
// the second Convene.
type workload struct {
	name, what string
	times      int // how often in a sample
	units      int // in each time
	variants   func() ([]variant, error)
}

var workloads = []workload{
	{"W1", "a call that answers at once, 10 in a run with start and end", 300, 10, calls},
	{"W1m", "the same as agents with a model", 100, 10, modelCalls},
	{"W2", "1,000 agents of 20 ms side by side", 1, 1, fanOuts},
	{"W3", "a round of try and grade, 3 in a run", 300, 3, loops},
	{"W4", "a task of a DAG of 1,000, at most 8 at once", 1, 1000, func() ([]variant, error) { return dags(1000) }},
	{"W4L", "a task of a DAG of 5,000, at most 8 at once (slow)", 1, 5000, func() ([]variant, error) { return dags(5000) }},
	{"W5", "a step of 1 kB on record in memory, 10 in a run", 50, 10, func() ([]variant, error) { return memorySteps(10) }},
	{"W5L", "a step of 1 kB on record in memory, 100 in a run", 5, 100, func() ([]variant, error) { return memorySteps(100) }},
	{"W5s", "a step of 1 kB in SQLite, WAL and sync NORMAL, 10 in a run", 20, 10, func() ([]variant, error) { return sqliteSteps(10) }},
	{"W5sL", "a step of 1 kB in SQLite, WAL and sync NORMAL, 100 in a run", 2, 100, func() ([]variant, error) { return sqliteSteps(100) }},
	{"W6", "10,000 runs of 3 calls of 50 ms at the same time, each sample in a process of its own", 1, 1, many},
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "many" {
		check("many", manyChild(os.Args[2]))
		return
	}
	only := flag.String("only", "", "the workloads to run, such as W1,W5; empty: all")
	samples := flag.Int("samples", 10, "samples of each variant")
	flag.Parse()
	fmt.Printf("%s, %s/%s, %d cores, median of %d samples taken in turn\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *samples)
	for _, w := range workloads {
		if *only != "" && !strings.Contains(","+*only+",", ","+w.name+",") {
			continue
		}
		check(w.name, w.measure(max(*samples, 1)))
	}
}

func check(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "peers: %s: %v\n", what, err)
		os.Exit(1)
	}
}

// measure takes samples of all variants alternately, each time beginning with another,
// after one of each that does not count, and prints the medians.
func (w workload) measure(samples int) error {
	variants, err := w.variants()
	if err != nil {
		return err
	}
	took := make([][]time.Duration, len(variants))
	says := make([]string, len(variants))
	for round := range samples + 1 {
		for i := range variants {
			i = (i + round) % len(variants)
			d, said, err := w.sample(variants[i])
			if err != nil {
				return fmt.Errorf("%s: %w", variants[i].name, err)
			}
			if round > 0 {
				took[i], says[i] = append(took[i], d), said
			}
		}
	}
	fmt.Printf("\n%s: %s\n", w.name, w.what)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	limit, ours := median(took[0]), median(took[1])
	for i, v := range variants {
		d := median(took[i])
		_, _ = fmt.Fprintf(out, "  %s\t%v\t%.2f x limit\t%.2f x Convene\t%s\n", v.name, d/time.Duration(w.units*w.times), ratio(d, limit), ratio(d, ours), says[i])
	}
	return out.Flush()
}

func (w workload) sample(v variant) (time.Duration, string, error) {
	if v.process != nil {
		return v.process()
	}
	do, err := v.build(w.times)
	if err != nil {
		return 0, "", err
	}
	runtime.GC()
	began := time.Now()
	err = do(context.Background())
	return time.Since(began), "", err
}

func median(ds []time.Duration) time.Duration {
	ds = slices.Sorted(slices.Values(ds))
	return ds[len(ds)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// repeat does once n times; what it needs was made before.
func repeat(name string, once func(context.Context) error) variant {
	return variant{name: name, build: func(n int) (func(context.Context) error, error) {
		return func(ctx context.Context) error {
			for range n {
				if err := once(ctx); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}}
}
