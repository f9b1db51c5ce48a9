package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// known are the findings that are left to mend: their numbers by "check subject".
type known map[string]int

func readKnown(path string) (known, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k := known{}
	for line := range strings.Lines(string(text)) {
		var check, subject string
		var n int
		if _, err := fmt.Sscan(line, &check, &subject, &n); err != nil {
			return nil, fmt.Errorf("%s: the line %q is not: check subject number", path, line)
		}
		k[check+" "+subject] = n
	}
	return k, nil
}

// String is the text of the file.
func (k known) String() string {
	var s strings.Builder
	for _, key := range slices.Sorted(maps.Keys(k)) {
		fmt.Fprintf(&s, "%s %d\n", key, k[key])
	}
	return s.String()
}

// compare returns what differs between the findings of a check and what is known of it,
// and what to do about it. Each fault ends with the line that known.txt would need.
func (k known) compare(c check, found []finding) (faults []string) {
	now := map[string]bool{}
	for _, f := range found {
		key := c.name + " " + f.subject
		now[key] = true
		switch had, ok := k[key]; {
		case ok && f.n < had:
			faults = append(faults, fmt.Sprintf("better than known, so lower it (go run ./internal/arch/form -lower): %s %d", key, f.n))
		case f.n > had:
			faults = append(faults, fmt.Sprintf("%s: %d %s, at most %d: %s%s\n\tleft for later it would be: %s %d",
				f.subject, f.n, c.unit, max(had, c.limitOf(f.subject)), c.mend, places(f.where), key, f.n))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k)) {
		if strings.HasPrefix(key, c.name+" ") && !now[key] {
			faults = append(faults, fmt.Sprintf("mended or gone, so remove it (go run ./internal/arch/form -lower): %s %d", key, k[key]))
		}
	}
	return faults
}

func places(where []string) string {
	if len(where) == 0 {
		return ""
	}
	return "\n\t" + strings.Join(where, "\n\t")
}

// lowered returns k with smaller numbers where less is found. Nothing is added.
func (k known) lowered(r *repo) known {
	less := known{}
	for _, c := range checks {
		for _, f := range c.above(r) {
			key := c.name + " " + f.subject
			if had, ok := k[key]; ok {
				less[key] = min(had, f.n)
			}
		}
	}
	return less
}
