// Command bench measures Convene beside the limits of the machine: a goroutine and
// a channel, an errgroup, a bare INSERT. Every row is the median of paired samples,
// taken alternately in one run. Compare figures of one run alone; times depend on the
// machine, and the targets are meant for two cores that do nothing else.
//
//	go run .                    the whole table
//	go run . -only W1,W5        some workloads
//	go run . -pairs 21          more samples of each
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
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
	{"W4", dag},
	{"W5", steps},
	{"W6", manyRuns},
	{"empty", emptyRun},
	{"waiting", waiting},
	{"replay", replays},
	{"hosts", hosts},
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "many" {
		check("many", many(os.Args[2]))
		return
	}
	only := flag.String("only", "", "the workloads to run, such as W1,W5; empty: all")
	pairs := flag.Int("pairs", 11, "paired samples of each row, at least 1")
	flag.Parse()
	t := &table{pairs: max(*pairs, 1)}
	for _, name := range strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }) {
		if !known(name) {
			check(name, fmt.Errorf("no such workload: want some of %s", names()))
		}
	}
	for _, w := range workloads {
		if *only != "" && !strings.Contains(","+*only+",", ","+w.name+",") {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", w.name)
		check(w.name, w.run(t))
	}
	fmt.Printf("%s, %s/%s, %d cores, median of %d pairs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), t.pairs)
	t.print(os.Stdout)
}

func known(name string) bool {
	for _, w := range workloads {
		if w.name == name {
			return true
		}
	}
	return false
}

func names() string {
	var all []string
	for _, w := range workloads {
		all = append(all, w.name)
	}
	return strings.Join(all, ",")
}

// check ends the program if err is not nil.
func check(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", what, err)
		os.Exit(1)
	}
}
