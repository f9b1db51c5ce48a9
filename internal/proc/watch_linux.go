package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// look is how often processes are counted.
const look = 20 * time.Millisecond

// watch returns a function that counts the processes of a program that is about to
// start, and stops it when there are too many. Its result ends the counting.
func watch(c Command, stop context.CancelCauseFunc) func(*process) func() {
	least, _ := tasks() // before the program has any
	return func(p *process) func() {
		if c.Processes <= 0 || !p.isolated {
			return func() {}
		}
		done := make(chan struct{})
		var work sync.WaitGroup
		work.Go(func() {
			tick := time.NewTicker(look)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				now, err := tasks()
				least = min(least, now)
				if (err != nil || now-least >= c.Processes) && crowded(p.cmd.Process.Pid, c.Processes) {
					stop(&limitError{Crowded, fmt.Sprintf("killed with more than %d processes", c.Processes)})
					return
				}
			}
		})
		return func() { close(done); work.Wait() }
	}
}

// tasks counts the threads of the system: a cheap proof that there are few new processes.
func tasks() (n int, err error) {
	load, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscanf(string(load), "%s %s %s %d/%d", new(string), new(string), new(string), new(int), &n)
	}
	return n, err
}

// crowded reports whether the process first, the first one of a namespace, and its
// descendants are more than limit; all others of the namespace are its descendants. It
// looks at the youngest processes first, and at no more than four times the limit, or a
// hundred. Whose those were that end before it looks at them is unknown.
// Divided between descendants and others in proportion, they must make it twice the
// limit: short processes of other programs never are that many.
func crowded(first, limit int) bool {
	var ours, others, gone int
	known := map[int]relation{0: other, first: descendant}
	for _, pid := range slices.Backward(pids()) {
		switch relate(pid, known) {
		case descendant:
			ours++
		case other:
			others++
		case vanished:
			gone++
		}
		if ours+others+gone >= max(4*limit, 100) {
			break
		}
	}
	return tooMany(ours, others, gone, limit)
}

// tooMany is the verdict of crowded on the numbers that it has found.
func tooMany(ours, others, gone, limit int) bool {
	return ours > limit || ours > 0 && ours+gone*ours/(ours+others) > 2*limit
}

// relation is what a process is to the first one of a namespace.
type relation int

const (
	vanished relation = iota
	other
	descendant
)

// relate returns the relation of a process by that of its parent, and records it in known.
func relate(pid int, known map[int]relation) relation {
	r, ok := known[pid]
	if ok {
		return r
	}
	known[pid] = vanished // also if reused process IDs make a circle
	if parent, ok := parentOf(pid); ok {
		known[pid] = relate(parent, known)
	}
	return known[pid]
}

// parentOf returns the parent of a process, unless that has ended.
func parentOf(pid int) (parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	behindName := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // a name may have anything in it
	_, err = fmt.Sscan(behindName, new(string), &parent)
	return parent, err == nil
}

// pids lists all processes of the system, sorted.
func pids() (list []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := proc.Readdirnames(-1) // the names before an error count
	_ = proc.Close()
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	slices.Sort(list)
	return list
}
