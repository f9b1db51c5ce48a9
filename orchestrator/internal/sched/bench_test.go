package sched_test

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// instant is a port whose effects are done at once, the first one first.
type instant struct {
	under []*engine.Op
	next  int
}

func (p *instant) Start(op *engine.Op)                    { p.under = append(p.under, op) }
func (p *instant) Cancel(*engine.Op)                      {}
func (p *instant) Now() (time.Time, time.Duration)        { return time.Time{}, 0 }
func (p *instant) Emit(runlog.Record)                     {}
func (p *instant) Recorded(string, int64) engine.Recorded { return engine.Recorded{} }
func (p *instant) Expose(func() (json.RawMessage, error)) {}

var answer = &agent.Response{Usage: providers.Usage{Calls: 1, Input: 100, Output: 10, Cost: 1000}}

// run carries a flow out to its end.
func (p *instant) run(b *testing.B, in engine.Input, body func(*sched.Branch, *sched.Scope)) {
	b.Helper()
	s := sched.New(p, in, body)
	defer s.Leave()
	for {
		done, err := s.Advance()
		if err != nil {
			b.Fatal(err)
		}
		if done {
			return
		}
		op := p.under[p.next]
		p.next++
		if p.next == len(p.under) {
			p.under, p.next = p.under[:0], 0
		}
		s.Complete(engine.Completion{Op: op, Response: answer})
	}
}

func ask(b *sched.Branch, o sched.Options, req *agent.Request) {
	op := b.Op(engine.Call, "a")
	op.Request = req
	b.Do(o, op)
}

var plenty = engine.Budget{Cost: 1 << 60, Tokens: 1 << 60, Calls: 1 << 60}

// BenchmarkDo is one call of a branch that makes many.
func BenchmarkDo(b *testing.B) {
	for name, limit := range map[string]engine.Budget{"without limits": {}, "under limits": plenty} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			(&instant{}).run(b, engine.Input{Budget: limit}, func(br *sched.Branch, sc *sched.Scope) {
				req := &agent.Request{}
				for b.Loop() {
					ask(br, sched.Options{Scope: sc}, req)
				}
			})
		})
	}
}

// BenchmarkBranches is one of 1,000 branches that make one call each.
func BenchmarkBranches(b *testing.B) {
	const n = 1000
	for name, in := range map[string]struct {
		limit    engine.Budget
		estimate providers.NanoUSD
	}{"without limits": {}, "Estimate": {plenty, 1}, "that wait": {engine.Budget{Cost: 1 << 50}, 1 << 49}, "ramp": {plenty, 0}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&instant{}).run(b, engine.Input{Budget: in.limit}, func(br *sched.Branch, sc *sched.Scope) {
					g := br.Group()
					for range n {
						g.Go(sched.Options{Scope: sc}, func(br *sched.Branch) {
							ask(br, sched.Options{Scope: sc}, &agent.Request{Limits: agent.Limits{Estimate: in.estimate}})
						})
					}
					join(g)
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/branch")
		})
	}
}

// BenchmarkWaiting is the memory of a branch that waits.
func BenchmarkWaiting(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		p := &instant{}
		s := sched.New(p, engine.Input{}, func(br *sched.Branch, sc *sched.Scope) {
			g := br.Group()
			req := &agent.Request{}
			for range n {
				g.Go(sched.Options{Scope: sc}, func(br *sched.Branch) { ask(br, sched.Options{Scope: sc}, req) })
			}
			join(g)
		})
		b.StartTimer()
		if _, err := s.Advance(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/branch")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/branch")
		s.Leave()
		b.StartTimer()
	}
}
