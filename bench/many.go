package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// manyRuns is W6: 10,000 runs at the same time, of 3 calls of 50 ms each, in a fresh
// process for each sample. The limit is a goroutine for each.
func manyRuns(t *table) error {
	var grown []float64
	for _, v := range []struct {
		what, variant string
		want          time.Duration
	}{
		{"W6 10,000 runs of 3 calls of 50 ms", "agent", 600 * time.Millisecond},
		{"W6 the same, agent.LLM", "llm", 900 * time.Millisecond},
	} {
		p, err := compare(t.pairs, 1,
			func() (time.Duration, error) {
				m, err := another(v.variant)
				if v.variant == "agent" {
					grown = append(grown, float64(m.Grown))
				}
				return m.Took, err
			},
			func() (time.Duration, error) { m, err := another("limit"); return m.Took, err })
		if err != nil {
			return err
		}
		t.within(v.what, p, v.want)
	}
	if kB := median(grown) / 1000; kB > 0 {
		t.atMost("W6 growth of the process for a run", kB, 16, " kB")
	}
	return nil
}

const manyN = 10_000

// measured is what a process prints.
type measured struct {
	Took  time.Duration
	Grown int64 // bytes of the process for one run; 0: this system does not tell
}

// another measures a variant in another process.
func another(variant string) (measured, error) {
	var m measured
	program, err := os.Executable()
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(context.Background(), program, "many", variant)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}

// many is that process.
func many(variant string) error {
	const takes, some = 50 * time.Millisecond, 3
	ctx := context.Background()
	var a agent.Agent = slow(takes)
	if variant == "llm" {
		a = llm(takes)
	}
	var e *orchestrator.Engine
	once := func() error {
		for range some {
			if _, err := a.Call(ctx, agent.Request{Prompt: "x"}); err != nil {
				return err
			}
		}
		return nil
	}
	if variant != "limit" {
		var err error
		if e, err = engineOf(a, nil); err != nil {
			return err
		}
		f := working()
		once = func() error { _, err := f.Run(ctx, e, work{Calls: some}); return err }
	}
	errs := make([]error, manyN)
	before := status("VmRSS")
	began := time.Now()
	var wg sync.WaitGroup
	for i := range manyN {
		wg.Go(func() { errs[i] = once() })
	}
	wg.Wait()
	m := measured{Took: time.Since(began)}
	if before > 0 {
		m.Grown = (status("VmHWM") - before) / manyN
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// status is a field of what Linux tells of this process, in bytes; 0: it does not.
func status(field string) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field+":"); ok {
			kB, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
			}
			return kB * 1024
		}
	}
	return 0
}
