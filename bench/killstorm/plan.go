package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"
)

// part is one step of a flow. A plan is a part with parts.
type part struct {
	kind  kind
	id    string // unique in the plan
	parts []part
	limit int           // how many branches run at once; 0: all
	wait  time.Duration // length of a sleep
	seed  uint64        // seed of a child's plan
}

type kind int

const (
	call     kind = iota
	flaky         // a call that fails transiently at first
	broken        // a call that fails
	sequence      // sequential parts
	branches      // parallel parts
	race          // parallel parts, collected in the order in which they finish
	capped        // sequential parts, under a budget and a time limit that are never reached
	sleep
	question
	child
	kinds
)

// planOf draws the plan of a seed. depth is how many levels children may have.
func planOf(seed uint64, depth int) part {
	r := rand.New(rand.NewPCG(seed, 1))
	p := part{kind: sequence, id: "p", parts: []part{{kind: call, id: "p"}}} // the storm learns of the run by this call
	for i := range 3 + r.IntN(3) {
		p.parts = append(p.parts, draw(r, fmt.Sprintf("p%d", i), 2, depth))
	}
	return p
}

// draw draws a part that holds at most that many levels of parts.
func draw(r *rand.Rand, id string, levels, depth int) part {
	p := part{kind: kind(r.IntN(int(kinds))), id: id}
	if levels == 0 && p.kind >= sequence && p.kind <= capped || depth == 0 && p.kind == child {
		p.kind = call
	}
	switch p.kind {
	case sequence, branches, race, capped:
		for i := range 2 + r.IntN(3) {
			p.parts = append(p.parts, draw(r, fmt.Sprintf("%s.%d", id, i), levels-1, depth))
		}
		p.limit = r.IntN(3)
	case sleep:
		p.wait = time.Duration(1+r.IntN(30)) * time.Millisecond
	case child:
		p.seed = r.Uint64()
	case call, flaky, broken, question, kinds:
	}
	return p
}

// expect is the result of a flow for a part and a text, computed without an engine.
func (p part) expect(text string, depth int) string {
	switch p.kind {
	case call, flaky:
		return reply(p.prompt(text))
	case broken:
		return text + " broken"
	case sequence, capped:
		for _, sub := range p.parts {
			text = sub.expect(text, depth)
		}
		return text
	case branches, race:
		var texts []string
		for _, sub := range p.parts {
			texts = append(texts, sub.expect(text, depth))
		}
		return join(texts)
	case question:
		return join([]string{text, answerTo(p.id)})
	case child:
		return join([]string{text, planOf(p.seed, depth-1).expect("", depth-1)})
	case sleep, kinds:
	}
	return text
}

// calls is how many calls a plan makes, those of its children included.
func (p part) calls(depth int) int64 {
	var n int64
	switch p.kind {
	case call, flaky, broken:
		n = 1
	case race:
		n = 1 // tells the order
	case child:
		n = planOf(p.seed, depth-1).calls(depth - 1)
	case sequence, branches, capped, sleep, question, kinds:
	}
	for _, sub := range p.parts {
		n += sub.calls(depth)
	}
	return n
}

// firstQuestion is the key of a question of the plan itself, "" if it has none.
func (p part) firstQuestion() string {
	if p.kind == question {
		return p.id
	}
	for _, sub := range p.parts {
		if key := sub.firstQuestion(); key != "" {
			return key
		}
	}
	return ""
}

func (p part) prompt(text string) string { return p.id + ": " + text }

// reply is the answer of agents.
func reply(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:6])
}

// answerTo is the answer to a question.
func answerTo(key string) string { return reply("the answer to " + key) }

// join makes one text of several, whatever their order.
func join(texts []string) string {
	sort.Strings(texts)
	return reply(strings.Join(texts, "+"))
}
