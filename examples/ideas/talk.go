package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
)

// talk is what a prompt tells of a discussion.
type talk struct {
	ideas   []proposal
	task    string // what is wanted
	opening bool   // nothing was said yet
	round   int
	missing int // ideas that are asked for; 0: as many as one likes
}

// proposal is an idea as it stands in a prompt.
type proposal struct {
	id, title, text string
	score           float64 // 0: none yet
}

var (
	ideaLine  = regexp.MustCompile(`^\d+\. (.*?)(?: - (.*))? \[(idea-\d+)\]$`)
	scoreLine = regexp.MustCompile(`^   Score: ([0-9.]+)/10$`)
	roundTask = regexp.MustCompile(`(?i)round (\d+) of \d+`)
	topUpTask = regexp.MustCompile(`^(\d+) ideas? (?:is|are) still missing`)
)

// readTalk reads a prompt as a member would.
func readTalk(prompt string) talk {
	pieces, task := rehearsal.Quoted(prompt)
	t := talk{task: task, round: 1}
	_, t.opening = pieces["topic"]
	if m := roundTask.FindStringSubmatch(task); m != nil {
		t.round, _ = strconv.Atoi(m[1])
	}
	if m := topUpTask.FindStringSubmatch(task); m != nil {
		t.missing, _ = strconv.Atoi(m[1])
	}
	text := pieces["discussion"]
	if at := strings.LastIndex(text, "\nIdeas:\n"); at >= 0 {
		t.ideas = proposals(text[at:])
	}
	return t
}

func proposals(text string) []proposal {
	var all []proposal
	for line := range strings.SplitSeq(text, "\n") {
		if m := ideaLine.FindStringSubmatch(line); m != nil {
			all = append(all, proposal{id: m[3], title: m[1], text: m[2]})
		}
		if m := scoreLine.FindStringSubmatch(line); m != nil && len(all) > 0 {
			all[len(all)-1].score, _ = strconv.ParseFloat(m[1], 64)
		}
	}
	return all
}

// last are the newest n ideas.
func (t talk) last(n int) []proposal { return t.ideas[max(0, len(t.ideas)-n):] }

// has tells whether there is an idea of that title.
func (t talk) has(title string) bool {
	for _, p := range t.ideas {
		if p.title == title {
			return true
		}
	}
	return false
}
