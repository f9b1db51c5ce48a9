package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	manyRuns  = 10_000
	manyTakes = 50 * time.Millisecond
)

// many starts a process for each sample. The process prints what it measured, without
// the time to start it.
func many() ([]variant, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var vs []variant
	for _, l := range libraries {
		names := []string{l.name}
		if l.models != nil && l.name != limits.name {
			names = append(names, l.name+" with a model")
		}
		for _, name := range names {
			vs = append(vs, variant{name: name, process: func() (time.Duration, string, error) {
				cmd := exec.CommandContext(context.Background(), program, "many", name)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					return 0, "", err
				}
				var took, kB int64
				_, err = fmt.Sscan(string(out), &took, &kB)
				return time.Duration(took), fmt.Sprintf("%.1f kB a run", float64(kB)/manyRuns), err
			}})
		}
	}
	return vs, nil
}

// manyChild is that process: all runs at the same time, with one goroutine for each.
func manyChild(name string) error {
	for _, l := range libraries {
		build := l.chain
		if base, ok := strings.CutSuffix(name, " with a model"); ok && base == l.name {
			build = l.models
		} else if name != l.name {
			continue
		}
		do, err := build(3, manyTakes)
		if err != nil {
			return err
		}
		errs := make([]error, manyRuns)
		before := status("VmRSS")
		began := time.Now()
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = do(context.Background()) })
		}
		wg.Wait()
		took := time.Since(began)
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		fmt.Println(took.Nanoseconds(), status("VmHWM")-before)
		return nil
	}
	return fmt.Errorf("no variant %q", name)
}

// status is a field of what Linux tells of this process, in kB; 0: it does not.
func status(field string) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field+":"); ok {
			var kB int64
			_, _ = fmt.Sscan(rest, &kB)
			return kB
		}
	}
	return 0
}
