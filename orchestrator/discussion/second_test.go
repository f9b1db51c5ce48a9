package discussion_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// world is a random discussion from its scores on: n ideas, and what the moderator and the leader
// say in turn.
type world struct {
	n           int
	policy      discussion.Policy
	moderator   [][]grade // one list an answer; nil: the call fails. No answer at all: no moderator
	leader      []int     // idea that an answer names, from 1; 0: none; -1: the call fails
	words       []string  // and the answers themselves
	isModerated bool
}

// grade is what an answer says of an idea, from 1; beyond n it is of none.
type grade struct {
	idea   int
	usable bool
	score  float64
	says   map[string]any
}

// second is what a world comes to.
type second struct {
	final, leaders              string
	by                          discussion.SelectedBy
	status                      orchestrator.Status
	score                       float64
	unverified, short, ranking  []string
	below, noIdeas              bool
	moderatorCalls, leaderCalls int
}

func newWorld(r *rand.Rand) (w world) {
	w.n = r.IntN(7)
	w.policy.Threshold, w.policy.Attempts = []float64{0, 5, 6.5, 10}[r.IntN(4)], 1
	w.isModerated = r.IntN(4) > 0
	w.policy.RequireThreshold = w.isModerated && r.IntN(4) == 0
	if w.isModerated && r.IntN(3) == 0 {
		w.policy.AssumeScore = new(float64(r.IntN(11)))
	}
	for range 8 {
		var answer []grade
		if r.IntN(5) > 0 {
			answer = []grade{}
			for range r.IntN(2 * (w.n + 1)) {
				answer = append(answer, newGrade(r, w.n))
			}
		}
		w.moderator = append(w.moderator, answer)
		choice := r.IntN(w.n+3) - 1
		words := ""
		switch {
		case choice > w.n:
			choice, words = 0, "Between idea-1 and idea-2."
			if w.n == 1 {
				choice = 1
			}
		case choice > 0:
			words = fmt.Sprintf([]string{`{"idea_id":"idea-%d","reason":"so"}`, "I choose idea-%d.", "#%d"}[r.IntN(3)], choice)
		case choice == 0:
			words = "All are fine."
		}
		w.leader, w.words = append(w.leader, choice), append(w.words, words)
	}
	return w
}

func newGrade(r *rand.Rand, n int) grade {
	g := grade{idea: 1 + r.IntN(n+1), score: float64(r.IntN(21)) / 2}
	g.says = map[string]any{"idea_id": fmt.Sprintf("idea-%d", g.idea)}
	switch r.IntN(5) {
	case 0:
		g.says["score"] = []any{85, -1, "NaN", "good"}[r.IntN(4)]
	case 1:
		g.usable = true // the mean of five marks, whose sum is five scores
		x := g.score
		g.says["criteria"] = marks(x, x, x, x, x)
	case 2:
		g.says["criteria"] = map[string]any{"feasibility": 8, "impact": 9}
	default:
		g.usable, g.says["score"] = true, g.score
	}
	return g
}

// play is the slow and simple way from scores to an end: nothing is sorted, and each rule is as it
// is written.
func (w world) second() (s second) {
	s.by, s.status, s.score = discussion.ByNone, orchestrator.Partial, -1
	if w.n == 0 {
		s.noIdeas = w.isModerated
		if s.noIdeas {
			s.status = orchestrator.Failed
		}
		return s
	}
	graded, scored := map[int]float64{}, map[int]float64{}
	if w.isModerated {
		s.moderatorCalls = w.grades(graded)
	}
	for i := 1; i <= w.n; i++ {
		if x, ok := graded[i]; ok {
			scored[i] = x
		} else if w.policy.AssumeScore != nil {
			scored[i] = *w.policy.AssumeScore
		}
	}
	leaders, calls := w.chooses(len(scored))
	s.leaderCalls = calls
	if leaders > 0 {
		s.leaders = name(leaders)
	}
	better := func(a, b int) bool {
		_, gradedA := graded[a]
		_, gradedB := graded[b]
		x, scoredA := scored[a]
		y, scoredB := scored[b]
		switch {
		case gradedA != gradedB:
			return gradedA
		case scoredA != scoredB:
			return scoredA
		case x != y:
			return x > y
		}
		return a < b
	}
	var order []int
	for len(order) < w.n {
		best := 0
		for i := 1; i <= w.n; i++ {
			if !slices.Contains(order, i) && (best == 0 || better(i, best)) {
				best = i
			}
		}
		order = append(order, best)
	}
	for _, i := range order {
		s.ranking = append(s.ranking, name(i))
		if w.passes(scored, i) {
			s.short = append(s.short, name(i))
		}
	}
	return w.ends(s, order[0], leaders, graded, scored)
}

func (w world) passes(scored map[int]float64, i int) bool {
	x, ok := scored[i]
	return ok && x >= w.policy.Threshold
}

// ends decides which idea is final, and what that makes of the run.
func (w world) ends(s second, first, leaders int, graded, scored map[int]float64) second {
	final := first
	_, isScored := scored[first]
	switch {
	case isScored:
		s.by, s.below = discussion.ByScore, !w.passes(scored, first)
	case leaders > 0:
		final, s.by = leaders, discussion.ByLeader
	default:
		s.by = discussion.ByOrder
	}
	if w.policy.RequireThreshold && !w.passes(scored, final) {
		s.by = discussion.ByNone
		return s
	}
	s.final = name(final)
	if isScored {
		s.score = scored[final]
	}
	_, isGraded := graded[final]
	switch {
	case w.isModerated && isGraded && w.passes(scored, final):
		s.status = orchestrator.Completed
	case !w.isModerated && s.by == discussion.ByLeader:
		s.status = orchestrator.Completed
	default:
		s.unverified = append(s.unverified, s.final)
	}
	for i := 1; i <= w.n && isGraded; i++ {
		if _, ok := graded[i]; !ok {
			s.unverified = append(s.unverified, name(i))
		}
	}
	return s
}

func name(i int) string { return fmt.Sprintf("idea-%d", i) }

// grades are those that the moderator's answers come to, and how many there are: an answer with
// nothing that is wanted is sent back once, a request without a grade is made once more, and one
// more is for the ideas without a grade, which is not sent back.
func (w world) grades(graded map[int]float64) (calls int) {
	take := func() (found bool) {
		before := len(graded)
		fresh := map[int]float64{}
		for _, g := range w.moderator[calls] {
			if _, had := graded[g.idea]; g.idea <= w.n && g.usable && !had {
				fresh[g.idea] = g.score
			}
		}
		maps.Copy(graded, fresh)
		calls++
		return len(graded) > before
	}
	for range 2 {
		for range 2 {
			if fails := w.moderator[calls] == nil; take() || fails {
				break
			}
		}
		if len(graded) > 0 {
			break
		}
	}
	if len(graded) > 0 && len(graded) < w.n {
		take()
	}
	return calls
}

// chooses is the idea that the leader's answers come to, and how many there are.
// scores is the number of ideas with one.
func (w world) chooses(scores int) (idea, calls int) {
	next := func() int { calls++; return w.leader[calls-1] }
	idea = next()
	if scores > 0 {
		return max(idea, 0), calls
	}
	if idea < 0 { // a call that fails is made once more
		if idea = next(); idea < 0 {
			return 0, calls
		}
	}
	if idea == 0 { // an answer without a choice is sent back once
		idea = next()
	}
	return max(idea, 0), calls
}

// first is what the package comes to.
func (w world) first(t *testing.T) (s second) {
	t.Helper()
	cfg := without(discussion.Standard(nil), discussion.UICreator)
	cfg.Policy = w.policy
	if !w.isModerated {
		cfg = without(cfg, discussion.Moderator)
	}
	titles := []string{"Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta"}[:w.n]
	d := debate{cfg: cfg, cast: cast{discussion.Ideation: {ideas(titles...)}, discussion.TeamLeader: {"go", "so far"}}}
	for i, words := range w.words {
		said := any(words)
		if w.leader[i] < 0 {
			said = errBoom
		}
		d.cast[discussion.TeamLeader] = append(d.cast[discussion.TeamLeader], said)
	}
	for _, answer := range w.moderator {
		list := []map[string]any{}
		for _, g := range answer {
			list = append(list, g.says)
		}
		said := any(string(agent.JSON(map[string]any{"evaluations": list})))
		if answer == nil {
			said = errBoom
		}
		d.cast[discussion.Moderator] = append(d.cast[discussion.Moderator], said)
	}
	p := d.play(t)
	idOf := func(i *discussion.Idea) string {
		if i == nil {
			return ""
		}
		return i.ID
	}
	s = second{
		final: idOf(p.out.FinalIdea), leaders: idOf(p.out.LeaderChoice), by: p.out.SelectedBy, status: p.out.Status, score: -1,
		unverified: p.out.Unverified, ranking: p.out.Ranking, below: p.out.BelowThreshold,
		moderatorCalls: len(p.prompts(discussion.Moderator)), leaderCalls: max(0, len(p.prompts(discussion.TeamLeader))-2),
	}
	if p.out.Score != nil {
		s.score = *p.out.Score
	}
	for _, i := range p.out.Shortlist {
		s.short = append(s.short, i.ID)
	}
	if p.err != nil {
		require.ErrorIs(t, p.err, discussion.ErrNoIdeas)
		s.noIdeas = true
	}
	return s
}

// TestSecondImplementation compares the package with a slow one on random discussions.
func TestSecondImplementation(t *testing.T) {
	t.Parallel()
	t.Run("D30 DC2 DC13 DC14 DC16 DC40 N2 N18 two implementations agree on 1,000 random discussions", func(t *testing.T) {
		t.Parallel()
		ends := map[string]int{}
		for seed := range roundtest.Of(100, 1000) {
			w := newWorld(rand.New(rand.NewPCG(uint64(seed), 2))) //nolint:gosec // a seed
			want := w.second()
			require.Equal(t, want, w.first(t), "seed %d: %+v", seed, w)
			ends[fmt.Sprint(want.by, " ", want.status)]++
		}
		for _, end := range []string{"score completed", "score partial", "leader completed", "leader partial", "order partial", "none partial", "none failed"} {
			require.Positive(t, ends[end], "%s: %v", end, ends)
		}
	})
}
