package delivery_test

import (
	"fmt"
	"slices"

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
}

// dumb is a second implementation of the team, written from its specification alone: without
// machines, time, texts or rules of a host.
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
}

type dumbStep struct {
	drawn
	id, status string
}

var ladder = []delivery.Level{none, remind, correct, refocus, critical, abort}

// imagine plays a world.
func imagine(w world) imagined {
	d := &dumb{world: w, named: map[string][]int{}}
	d.calls, d.iteration = map[string]int{}, 1
	func() {
		defer func() {
			if r := recover(); r != nil && r != any("over") {
				panic(r)
			}
		}()
		for {
			root, ok := d.makePlan("plan", "goal", 0)
			if !ok {
				d.end = "failed"
				return
			}
			d.execute(root, 0)
			if d.goal(root.steps) {
				return
			}
			if d.iteration == d.iterations {
				d.end = "failed"
				return
			}
			d.iteration++
		}
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
	d.status = orchestrator.Failed
	if d.result || d.end == "completed" {
		d.status = orchestrator.Partial
	}
	if d.end == "completed" && d.lost == 0 {
		d.status = orchestrator.Completed
	}
	return d.imagined
}

// dumbPlan is a plan of the dumb team.
type dumbPlan struct {
	id    string
	steps []*dumbStep
	used  int // revisions
}

func (d *dumb) say(message, target string) { d.said = append(d.said, message+" "+target) }

// ask counts a call and says its two messages.
func (d *dumb) ask(kind, request, reply, target string) int {
	d.say(request, target)
	d.say(reply, target)
	d.calls[kind]++
	return d.calls[kind] - 1
}

// judge counts a verdict; score below 0: by a rule.
func (d *dumb) judge(target string, passes bool, score float64) bool {
	before, byScore := d.level, 0
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
	switch {
	case passes:
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
		d.end = "aborted"
		panic("over")
	}
	return passes
}

func (d *dumb) verify(gate, target string) bool {
	n := d.ask("verify "+gate, "VERIFY_REQUEST", "VERIFY_RESPONSE", target)
	v := d.verdict(gate, n)
	if d.revisions > 0 {
		d.named[target] = append(d.named[target], v.revise...)
	}
	least := map[string]float64{"plan": 70, "code": 60, "test": 0, "step": 70, "goal": 80}[gate]
	passes := v.approved && v.score >= least && (gate != "code" || !v.critical) && (gate != "step" || v.evidence)
	return d.judge(target, passes, v.score)
}

// makePlan has a plan made; target is what it is for.
func (d *dumb) makePlan(kind, target string, depth int) (*dumbPlan, bool) {
	request, reply := "PLAN_REQUEST", "PLAN_RESPONSE"
	if kind == "subplan" {
		request, reply = "REPLAN_REQUEST", "SUBPLAN_RESPONSE"
	}
	for range d.plans {
		if d.asked++; d.asked > 1 {
			d.metrics.ReplanCount++
		}
		n := d.ask(kind, request, reply, target)
		d.ids++
		p := &dumbPlan{id: fmt.Sprint("p", d.ids)}
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
			p.steps = append(p.steps, &dumbStep{s, fmt.Sprint(p.id, ".s", s.number), "pending"})
		}
		if fits && d.verify("plan", p.id) || !fits && d.judge(p.id, false, -1) {
			d.all = append(d.all, p)
			return p, true
		}
	}
	return nil, false
}

// execute executes a plan; false: a step of a sub-plan is lost.
func (d *dumb) execute(p *dumbPlan, depth int) bool {
	for {
		failed := 0
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
		} else if d.step(next, depth) {
			next.status, d.result = "completed", d.result || depth == 0
		} else {
			next.status = "failed"
		}
		if depth > 0 && next.status != "completed" {
			return false
		}
		if depth == 0 {
			d.revise(p, next)
		}
	}
}
