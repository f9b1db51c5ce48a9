package delivery_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// imagined is what a run comes to.
type imagined struct {
	said      []string // messages and their targets
	calls     map[string]int
	levels    []delivery.Level
	metrics   delivery.Metrics
	iteration int
	end       string
	status    orchestrator.Status

	unverified []string
	elapsed    time.Duration
}

// dumb is a second implementation of the team, written from its specification alone: without
// machines, texts or rules of a host.
type dumb struct {
	imagined
	world

	issues int
	level  int
	ids    int // plans so far
	asked  int // requests for plans
	all    []*dumbPlan
	lost   int // steps of the last root plan
	result bool
	named  map[string][]int
	clock
}

type dumbStep struct {
	drawn
	id, status string // pending, begun, completed, failed or skipped
	tries      int
}

var ladder = []delivery.Level{none, remind, correct, refocus, critical, abort}

// newDumb begins a world.
func newDumb(w world) *dumb {
	d := &dumb{world: w, named: map[string][]int{}}
	d.calls, d.iteration = map[string]int{}, 1
	return d
}

// stop ends the run.
func (d *dumb) stop(end string) {
	d.end = end
	panic("over")
}

// play plays the run to its end.
func (d *dumb) play() imagined {
	func() {
		defer func() {
			if r := recover(); r != nil && r != any("over") {
				panic(r)
			}
		}()
		d.iterate()
	}()
	for _, p := range d.all {
		for _, s := range p.steps {
			d.metrics.TotalSteps++
			switch s.status {
			case "completed":
				d.metrics.CompletedSteps++
			case "failed":
				d.metrics.FailedSteps++
			case "skipped":
				d.metrics.BlockedSteps++
			}
		}
	}
	d.elapsed, d.status = d.now, orchestrator.Failed
	switch {
	case d.end == "completed" && d.lost == 0 && len(d.unverified) == 0:
		d.status = orchestrator.Completed
	case d.end == "completed", d.result:
		d.status = orchestrator.Partial
	case d.end == "time_expired":
		d.status = orchestrator.OutOfBudget
	}
	return d.imagined
}

// iterate makes and executes root plans.
func (d *dumb) iterate() {
	for ; ; d.iteration++ {
		d.late(endless) // the loop goes on at the time check
		left := d.left()
		plan, verify := min(left/10, 15*time.Minute), min(left/10, 10*time.Minute)
		began, root := d.now, d.open
		if d.open = nil; root == nil {
			root, _ = d.makePlan("plan", "goal", 0, d.after(plan))
		}
		if root == nil {
			d.stop("failed")
		}
		d.open = root
		d.execute(root, 0, d.after(max(0, min(left/10*8, left-(d.now-began)-verify))))
		reached, again := d.goal(root.steps)
		if reached {
			d.stop("completed")
		}
		if d.open = nil; !again || d.iteration == d.iterations {
			d.stop("failed")
		}
	}
}

// dumbPlan is a plan of the dumb team.
type dumbPlan struct {
	id    string
	steps []*dumbStep
	used  int // revisions
	depth int
}

func (d *dumb) say(message, target string) { d.said = append(d.said, message+" "+target) }

// judge counts a verdict; score below 0: by a rule.
func (d *dumb) judge(target, state string, score float64) string {
	before, byScore := d.level, 0
	d.looked, d.changed = d.now, false
	switch {
	case score < 0:
		byScore = 1
	case score < 30:
		byScore = 3
	case score < 50:
		byScore = 2
	case score < 70:
		byScore = 1
	}
	switch state {
	case "good":
		d.issues, d.level = 0, byScore
		d.metrics.VerificationsPassed++
	default:
		d.issues++
		d.metrics.VerificationsFailed++
		if d.level = byScore; d.issues > 1 {
			d.level = max(byScore, min(d.issues, 5))
		}
	}
	d.levels = append(d.levels, ladder[d.level])
	if d.level > 0 {
		d.say("CORRECTION", target)
	}
	if d.level > before {
		d.say("ESCALATION", target)
	}
	if d.level == 5 {
		d.say("ABORT", target)
		d.stop("aborted")
	}
	return state
}

// verify has work judged: good, bad, or late. What has no grade is good, and unverified.
func (d *dumb) verify(gate, target string, until time.Duration) string {
	n, state := d.ask("verify "+gate, "VERIFY_REQUEST", "VERIFY_RESPONSE", target, until)
	least := map[string]float64{"plan": 70, "code": 60, "test": 0, "step": 70, "goal": 80}[gate]
	if state == "none" {
		if d.assume == 0 || d.assume < least || gate == "goal" {
			if !slices.Contains(d.unverified, target) {
				d.unverified = append(d.unverified, target)
			}
		}
		return "good"
	}
	if state == "late" {
		return "late"
	}
	v := d.verdict(gate, n)
	if d.revisions > 0 {
		d.named[target] = append(d.named[target], v.revise...)
	}
	state = "bad"
	if v.approved && v.score >= least && (gate != "code" || !v.critical) && (gate != "step" || v.evidence) {
		state = "good"
	}
	return d.judge(target, state, v.score)
}

// makePlan has a plan made; target is what it is for.
func (d *dumb) makePlan(kind, target string, depth int, until time.Duration) (*dumbPlan, bool) {
	request, reply := "PLAN_REQUEST", "PLAN_RESPONSE"
	if kind == "subplan" {
		request, reply = "REPLAN_REQUEST", "SUBPLAN_RESPONSE"
	}
	for range d.plans {
		if d.late(until) || d.look(target, until) || d.late(until) {
			return nil, false
		}
		if d.asked++; d.asked > 1 {
			d.metrics.ReplanCount++
		}
		n, state := d.ask(kind, request, reply, target, until)
		if state != "" {
			return nil, false
		}
		d.changed = true
		d.ids++
		p := &dumbPlan{id: fmt.Sprint("p", d.ids), depth: depth}
		fits := true
		for _, s := range d.plan(kind, n) {
			fits = fits && !slices.Contains(s.needs, s.number)
			if d.zeroBased {
				s.number++
				s.needs = slices.Clone(s.needs)
				for i := range s.needs {
					s.needs[i]++
				}
			}
			p.steps = append(p.steps, &dumbStep{s, fmt.Sprint(p.id, ".s", s.number), "pending", 0})
		}
		if !fits {
			d.judge(p.id, "bad", -1)
			continue
		}
		switch d.verify("plan", p.id, until) {
		case "good":
			d.all = append(d.all, p)
			return p, true
		case "late":
			return nil, false
		}
	}
	return nil, false
}

// execute executes a plan; false: a step of a sub-plan is lost.
func (d *dumb) execute(p *dumbPlan, depth int, until time.Duration) bool {
	for {
		failed, open := 0, 0
		var next *dumbStep
		byNumber := map[int]*dumbStep{}
		for _, s := range p.steps {
			byNumber[s.number] = s
			if s.status == "failed" {
				failed++
			}
		}
		if failed >= d.failedSteps {
			d.say("ESCALATION", p.id)
			return false
		}
		for _, s := range p.steps {
			if s.status == "pending" {
				open++
			}
			waits := slices.ContainsFunc(s.needs, func(n int) bool { return byNumber[n].status == "pending" })
			if s.status == "pending" && !waits && (next == nil || s.number < next.number) {
				next = s
			}
		}
		if next == nil {
			return true
		}
		if slices.ContainsFunc(next.needs, func(n int) bool { return byNumber[n].status != "completed" }) {
			next.status = "skipped"
			d.say("STEP_BLOCKED", next.id)
		} else if d.late(until) {
			return false
		} else if d.step(next, depth, d.part(until, open)) {
			next.status, d.result = "completed", d.result || depth == 0
		} else {
			next.status = "failed"
		}
		if depth > 0 && next.status != "completed" {
			return false
		}
		if depth == 0 {
			d.revise(p, next, until)
		}
	}
}
