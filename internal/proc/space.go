package proc

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ErrNoSpace says that a program has failed for want of room on a disk that it writes to.
// Its failure says nothing about what it was to do.
var ErrNoSpace = errors.New("the disk is full")

const (
	// A program that says that the disk is full is believed if less than this is free. Most
	// have removed their files when they end, and the largest was never written.
	scarce = 1 << 30

	// With less than this, a program with Writable is believed without a word.
	full = 64 << 10
)

// starved returns ErrNoSpace if a program has failed because a disk or a quota is full. The
// program's output is not enough for a disk, because tests of full disks print the same. It
// is enough for a quota, which cannot be seen from outside.
func starved(c Command, res Result) error {
	if res.Code == 0 || res.End != Exited && res.End != Signaled {
		return nil
	}
	said := strings.ToLower(strings.Join([]string{res.Stderr.Head, res.Stderr.Tail, res.Stdout.Head, res.Stdout.Tail}, "\n"))
	if strings.Contains(said, "disk quota exceeded") {
		return fmt.Errorf("%w: its quota is exceeded", ErrNoSpace)
	}
	least, word := uint64(0), strings.Contains(said, "no space left on device")
	if len(c.Writable) > 0 {
		least = full
	}
	if word {
		least = scarce
	}
	for _, path := range append([]string{cmp.Or(c.Dir, ".")}, c.Writable...) {
		if free, known := room(path); known && free < least || !known && word {
			return fmt.Errorf("%w: %d MiB are free at %s", ErrNoSpace, free>>20, path)
		}
	}
	return nil
}
