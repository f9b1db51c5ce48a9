package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
)

// talk is the discussion as read from a prompt.
type talk struct {
	ideas   []proposal
	task    string // the text outside of quotations: the headings, and the task
	opening bool   // nothing was said yet
	round   int
	missing int // ideas that are asked for; 0: any number
}

// proposal is an idea in a prompt.
type proposal struct {
	id, title, text string
	score           float64 // 0: none yet
}

var (
	ideaText  = regexp.MustCompile(`(?s)^(.*?)(?: - (.*))?$`)
	ideaLine  = regexp.MustCompile(`^\d+\. \[(idea-\d+)\]$`)
	scoreLine = regexp.MustCompile(`^   Score: ([0-9.]+)/10$`)
	roundTask = regexp.MustCompile(`(?i)round (\d+) of \d+`)
	topUpTask = regexp.MustCompile(`(?m)^(\d+) ideas? (?:is|are) still missing`)
)

// readTalk reads a prompt as a member would.
func readTalk(prompt string) talk {
	pieces, task := rehearsal.Quoted(prompt)
	t := talk{task: task, round: 1}
	t.opening = strings.HasPrefix(task, "You lead a team")
	if m := roundTask.FindStringSubmatch(task); m != nil {
		t.round, _ = strconv.Atoi(m[1])
	}
	if m := topUpTask.FindStringSubmatch(task); m != nil {
		t.missing, _ = strconv.Atoi(m[1])
	}
	for line := range strings.SplitSeq(task, "\n") {
		if m := ideaLine.FindStringSubmatch(line); m != nil {
			said := ideaText.FindStringSubmatch(pieces[m[1]])
			t.ideas = append(t.ideas, proposal{id: m[1], title: said[1], text: said[2]})
		}
		if m := scoreLine.FindStringSubmatch(line); m != nil && len(t.ideas) > 0 {
			t.ideas[len(t.ideas)-1].score, _ = strconv.ParseFloat(m[1], 64)
		}
	}
	return t
}

// has tells whether there is an idea of that title.
func (t talk) has(title string) bool {
	for _, p := range t.ideas {
		if p.title == title {
			return true
		}
	}
	return false
}
