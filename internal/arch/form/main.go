// Command form measures how the core is written. Run it at the root of the repository:
//
//	go run ./internal/arch/form           a summary, and what the tests would say
//	go run ./internal/arch/form -all      and all that is above a limit, with its places
//	go run ./internal/arch/form -lower    and makes known.txt as small as that allows
//
// The tests of this package hold the limits. What is above a limit today is listed in
// known.txt, one finding a line, with its number. A number there only ever gets smaller:
// the tests fail when a finding grows, and also when it shrinks and its line does not.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// knownFile lists what is above a limit, from the root of the repository.
const knownFile = "internal/arch/form/known.txt"

func main() {
	lower := flag.Bool("lower", false, "lower the numbers in "+knownFile+" to what is measured")
	all := flag.Bool("all", false, "print also what "+knownFile+" has")
	flag.Parse()
	if err := run(".", *lower, *all, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "form:", err)
		os.Exit(1) //nolint:forbidigo // a command ends with its status
	}
}

//nolint:revive // flag-parameter: they are the flags of the command
func run(root string, lower, all bool, out io.Writer) error {
	r, err := read(root)
	if err != nil {
		return err
	}
	known, err := readKnown(filepath.Join(root, knownFile))
	if err != nil {
		return err
	}
	if lower {
		known = known.lowered(r)
		if err := os.WriteFile(filepath.Join(root, knownFile), []byte(known.String()), 0o644); err != nil {
			return err
		}
	}
	if all {
		known = nil
	}
	if _, err := io.WriteString(out, r.summary()); err != nil {
		return err
	}
	for _, c := range checks {
		for _, fault := range known.compare(c, c.above(r)) {
			if _, err := fmt.Fprintln(out, fault); err != nil {
				return err
			}
		}
	}
	return nil
}

// summary tells of each check in a line, then of the sizes of the core.
func (r *repo) summary() string {
	out := new(strings.Builder)
	for _, c := range checks {
		total, above := 0, c.above(r)
		for _, f := range above {
			total += f.n
		}
		fmt.Fprintf(out, "%-9s %3d above %3d %s (%d in all)\n", c.name, len(above), c.limit, c.unit, total)
	}
	if lengths := r.coreFunctions(); len(lengths) > 0 {
		fmt.Fprintf(out, "functions of the core: median %d lines (goal %d), nine in ten up to %d (goal %d), the longest %d\n",
			lengths[len(lengths)/2], medianGoal, lengths[len(lengths)*9/10], p90Goal, lengths[len(lengths)-1])
	}
	fmt.Fprintf(out, "lines of the core: %d (goal %d)\n", r.coreLines(), coreGoal)
	return out.String()
}
