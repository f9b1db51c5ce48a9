package research

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

type usage = providers.Usage

// supervisorInput is what a supervisor gets, as JSON (R112).
type supervisorInput struct {
	Brief         Brief          `json:"brief"`
	Threshold     float64        `json:"threshold"`
	Iteration     int            `json:"iteration"`
	MaxIterations int            `json:"max_iterations"`
	Research      []WorkerOutput `json:"research"`
	Analysis      []WorkerOutput `json:"analysis"`
	Writing       []WorkerOutput `json:"writing"`
	Quality       []WorkerOutput `json:"quality"`
	Missed        []string       `json:"failed_workers,omitempty"`
	Words         int            `json:"word_count"`
	Sources       int            `json:"source_count"`
}

// evaluate has the supervisor mark the result and draws the conclusion (R75-R81). It
// tells whether another iteration begins.
func (r *run) evaluate(c *orchestrator.Context) (again bool, err error) {
	article, sources := articleOf(r.state.Writing), sourcesOf(r.state.Research)
	in := supervisorInput{
		Brief: r.state.Brief, Threshold: *r.state.Brief.MinQuality, Iteration: r.state.Iteration, MaxIterations: r.state.MaxIterations,
		Research: r.state.Research, Analysis: r.state.Analysis, Writing: r.state.Writing, Quality: r.state.Quality,
		Missed: r.missed, Words: article.Words, Sources: len(sources),
	}
	text, err := r.prompts.Fill("evaluate.tmpl", promptData{Brief: r.state.Brief, Iteration: r.state.Iteration})
	if err != nil {
		return false, err
	}
	r.marks, err = persist(r, c, "supervisor", func() (Marks, agent.Response, error) {
		req := agent.Request{Op: "evaluate", Prompt: text, Input: agent.JSON(in), Output: marksWanted, Limits: r.metaLimits()}
		return orchestrator.AskWith(c, r.cfg.Supervisor, req, func(resp agent.Response) (Marks, error) {
			var m Marks
			if err := read(marksIn, resp, &m); err != nil {
				return m, err
			}
			return m, m.check(*r.cfg.Weights)
		})
	})
	if err != nil {
		return false, err
	}
	return r.conclude(c, len(sources))
}

// conclude computes the score and what follows from it (R76-R80).
func (r *run) conclude(c *orchestrator.Context, sources int) (again bool, err error) {
	score, err := grading.Overall(r.marks.Facets, *r.cfg.Weights)
	if err != nil {
		return false, err
	}
	threshold := *r.state.Brief.MinQuality
	r.spent(c)
	most := r.state.MaxIterations
	if r.outOf != "" {
		most = r.state.Iteration // this is the last one (RX3, RX4)
	}
	decision := grading.Next(score, threshold, r.state.Iteration, most)
	r.state.QualityScore, r.state.Completeness = score, r.marks.Article
	if r.marks.Completeness != nil {
		r.state.Completeness = *r.marks.Completeness
	}
	r.state.History = append(r.state.History, IterationRecord{r.state.Plan.clone(), score})
	r.done = append(r.done, iteration{
		score: score, marks: r.marks, analysis: r.state.Analysis, writing: r.state.Writing, quality: r.state.Quality,
	})
	r.state.ShouldContinue = decision == grading.Continue
	switch decision {
	case grading.Complete:
		r.state.Feedback = nil
	case grading.Continue:
		feedback := r.feedback(sources)
		r.state.Feedback = &feedback
	case grading.ForceComplete:
		feedback := r.explanation()
		r.state.Feedback = &feedback
	}
	r.act(c, supervisor, "evaluate", map[string]any{"quality": score, "decision": string(decision)})
	c.Emit("evaluated", Event{Score: &score, Threshold: &threshold, Decision: decision, Iteration: r.state.Iteration})
	switch decision {
	case grading.Complete:
		r.fire(c, "accept", "good")
	case grading.ForceComplete:
		r.fire(c, "force", "exhausted")
	case grading.Continue:
	}
	return decision == grading.Continue, nil
}

// spent notes that money or time are used up.
func (r *run) spent(c *orchestrator.Context) {
	if r.state.Brief.MaxBudget-c.Spent().Cost <= 0 {
		r.exhaust(c, "budget_exhausted", "the budget is used up", "The budget of %s USD is used up", usd(r.state.Brief.MaxBudget))
	}
	r.late(c)
}

const maxIterations = "Max iterations reached"

// explanation is why a run ends although it is not good enough (R94).
func (r *run) explanation() string {
	if r.outOf == "" {
		return maxIterations
	}
	return strings.ToUpper(r.outOf[:1]) + r.outOf[1:]
}

// feedback is what to improve: what the supervisor says, and what can be counted (R81).
func (r *run) feedback(sources int) string {
	var parts []string
	if text := prompt.OneLine(r.marks.Feedback); text != "" {
		parts = append(parts, text)
	}
	for _, issue := range r.marks.Issues {
		parts = append(parts, prompt.OneLine(issue))
	}
	if want := r.state.Brief.MinSources; sources < want {
		parts = append(parts, fmt.Sprintf("only %d of %d sources", sources, want))
	}
	if len(r.missed) > 0 {
		parts = append(parts, "workers that failed or were left out: "+strings.Join(r.missed, ", "))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("the score is %.2f, want %.2f", r.state.QualityScore, *r.state.Brief.MinQuality))
	}
	return strings.Join(parts, "; ")
}

// merge makes the output (R87-R96).
func (r *run) merge(c *orchestrator.Context) error {
	chosen := len(r.done) - 1
	forced := grading.Next(r.state.QualityScore, *r.state.Brief.MinQuality, 1, 1) != grading.Complete
	if forced && !r.cfg.LastOnForce {
		scores := make([]float64, len(r.done))
		for i, d := range r.done {
			scores[i] = d.score
		}
		chosen = grading.Best(scores)
	}
	it := r.done[chosen]
	r.state.QualityScore = it.score
	article := articleOf(it.writing)
	if err := r.polish(c, &article, it.writing); err != nil {
		return err
	}
	r.out.Article, r.out.Sources = &article, sourcesOf(r.state.Research)
	r.out.Score = &it.score
	r.out.Quality = map[string]float64{
		"overall": it.score, "article": it.marks.Article, "source": it.marks.Source, "factual": it.marks.Factual, "writing": it.marks.Writing,
	}
	r.out.Status = orchestrator.Completed
	switch {
	case forced:
		r.out.Status = orchestrator.Partial
		r.admitShortfall(c, it.score)
	case len(r.done) > 1:
		r.out.SystemNotes = append(r.out.SystemNotes, fmt.Sprintf("Generated after %d iterations to meet quality threshold.", len(r.done)))
	}
	return nil
}

// admitShortfall says that the result is below its target, and why (R94).
func (r *run) admitShortfall(c *orchestrator.Context, score float64) {
	but := or(r.outOf, "max iterations reached")
	r.warn(c, "quality_below_target", "Quality %.2f below target %.2f, but %s", score, *r.state.Brief.MinQuality, but)
	if r.outOf == "" {
		r.warn(c, "max_iterations", maxIterations)
	}
	r.out.Explanation = r.explanation()
	r.out.SystemNotes = append(r.out.SystemNotes, "A lower quality threshold or a larger budget may lead to a complete result.")
}

// polish has the merger make one text of several drafts; if it fails, they stay as they
// were put together (R113, RX27).
func (r *run) polish(c *orchestrator.Context, article *Article, drafts []WorkerOutput) error {
	if r.cfg.Merger == "" || len(drafts) == 0 {
		return nil
	}
	text, err := r.prompts.Fill("merge.tmpl", promptData{Brief: r.state.Brief})
	if err != nil {
		return err
	}
	d, _, err := orchestrator.AskWith(c, r.cfg.Merger, agent.Request{
		Op: "merge", Prompt: text, Input: agent.JSON(map[string]any{"drafts": drafts, "tone": r.state.Brief.Tone}), Output: draftWanted, Limits: r.metaLimits(),
	}, func(resp agent.Response) (json.RawMessage, error) { return payload(Writing, resp) })
	if c.IsCanceled(err) {
		return err
	}
	if err != nil {
		r.warn(c, "merger_unavailable", "the merger failed: %s", prompt.OneLine(err.Error()))
		return nil
	}
	merged := articleOf([]WorkerOutput{{Payload: d}})
	merged.Title = or(merged.Title, article.Title)
	*article = merged
	return nil
}

// articleOf puts drafts together in their order (R87, RX17).
func articleOf(drafts []WorkerOutput) Article {
	var a Article
	var texts []string
	for _, o := range drafts {
		var d Draft
		if json.Unmarshal(o.Payload, &d) != nil {
			continue
		}
		a.Title = or(a.Title, d.Title)
		texts = append(texts, strings.TrimSpace(d.Content))
	}
	a.Content = strings.Join(texts, "\n\n")
	a.Words = len(strings.FieldsFunc(a.Content, func(r rune) bool { return unicode.IsSpace(r) }))
	a.ReadMinutes = grading.ReadingMinutes(a.Words)
	return a
}

// improvement is the way from one score to another in percentage points (R96).
func improvement(first, last float64) string {
	return fmt.Sprintf("%+d%% quality (%.2f → %.2f)", grading.ImprovementPoints(first, last), first, last)
}
