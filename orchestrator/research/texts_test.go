package research_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

// words is a draft of that many words.
func words(n int, word string) research.Draft {
	return research.Draft{Content: strings.TrimSpace(strings.Repeat(word+" ", n))}
}

func TestMergedText(t *testing.T) {
	// The drafts have 100 and 50 words and the score 0.8; the merger's text gets another one.
	merged := func(score float64, answer any) project {
		p := scored(0.8, score).merged(answer)
		p.cast["article_writer"], p.cast["second"] = []any{words(100, "one")}, []any{words(50, "two")}
		return p
	}
	drafts := words(100, "one").Content + "\n\n" + words(50, "two").Content
	t.Run("RC52 with one draft it is not asked", func(t *testing.T) {
		p := merged(0.9, words(100, "merged"))
		p.cast["planner"] = []any{small()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Empty(t, got.asked["merger"])
		assert.Len(t, got.asked["supervisor"], 1)
		assert.Equal(t, words(100, "one").Content, got.out.Article.Content)
		assert.Empty(t, got.out.Warnings)
	})
	for name, answer := range map[string]any{
		"RC52 a refusal":          "I'm sorry, but I can't help with that.",
		"RC52 null":               "null",
		"RC52 empty":              research.Draft{},
		"RC52 JSON inside prose":  "Here you are.\nIt reads well:\n" + string(agent.JSON(words(100, "merged"))),
		"RC52 too short a text":   words(59, "merged"),
		"RC52 a short text in it": `{"content":"In short: fine."}`,
	} {
		t.Run(name+" leaves the drafts, with a warning", func(t *testing.T) {
			got := merged(0.9, answer).play(t)
			require.NoError(t, got.err)
			assert.Equal(t, drafts, got.out.Article.Content)
			assert.InDelta(t, 0.8, *got.out.Score, 0)
			assert.Equal(t, orchestrator.Completed, got.out.Status)
			require.Len(t, got.out.Warnings, 1)
			assert.Equal(t, "merger", got.out.Warnings[0].Who)
			assert.Contains(t, got.out.Warnings[0].Message, "the drafts stay")
			assert.Len(t, got.asked["supervisor"], 1, "it is not graded")
			assert.Nil(t, got.out.Drafts)
		})
	}
	t.Run("RC52 a text of 0.6 of the longest draft, with a score as good, replaces them", func(t *testing.T) {
		got := merged(0.8, words(60, "merged")).play(t)
		require.NoError(t, got.err)
		assert.Equal(t, words(60, "merged").Content, got.out.Article.Content)
		require.NotNil(t, got.out.Drafts)
		assert.Equal(t, drafts, got.out.Drafts.Content, "what was graded stays")
		assert.Empty(t, got.out.Warnings)
		assert.Len(t, got.asked["supervisor"], 2)
		assert.Contains(t, string(got.asked["supervisor"][1].Input), words(60, "merged").Content)
		assert.Equal(t, straight, got.phases(), "no transition of its own")
		assert.Len(t, got.state.Actions, 13)
	})
	t.Run("RC52 N22 its score and marks are those of the outcome", func(t *testing.T) {
		got := merged(0.95, words(90, "merged")).play(t)
		require.NoError(t, got.err)
		assert.InDelta(t, 0.95, *got.out.Score, 0)
		assert.InDelta(t, 0.95, got.out.Quality["article"], 0)
		assert.InDelta(t, 0.95, got.state.QualityScore, 0)
		assert.InDelta(t, 0.8, got.state.History[0].Quality, 0, "the iteration keeps its own")
	})
	t.Run("RC52 its title, or that of the drafts", func(t *testing.T) {
		for title, want := range map[string]string{"Both": "Both", "": "One"} {
			one, both := words(100, "one"), words(100, "merged")
			one.Title, both.Title = "One", title
			p := merged(0.9, both)
			p.cast["article_writer"] = []any{one}
			assert.Equal(t, want, p.play(t).out.Article.Title)
		}
	})
	t.Run("RC52 a text with a lower score is dropped", func(t *testing.T) {
		got := merged(0.79, words(100, "merged")).play(t)
		require.NoError(t, got.err)
		assert.Equal(t, drafts, got.out.Article.Content)
		assert.InDelta(t, 0.8, *got.out.Score, 0)
		assert.Equal(t, "the merger's text has a quality of 0.79, the drafts 0.80: the drafts stay", got.warning(t, "research/text-dropped").Message)
	})
	t.Run("RC52 a text that is not graded is dropped", func(t *testing.T) {
		p := merged(0.9, words(100, "merged"))
		p.cast["supervisor"] = []any{marks(0.8), errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, drafts, got.out.Article.Content)
		assert.Equal(t, "the merger's text was not graded: boom: the drafts stay", got.warning(t, "research/ungraded").Message)
	})
	t.Run("RC52 a text that passes completes a run whose drafts did not", func(t *testing.T) {
		p := merged(0.9, words(100, "merged"))
		p.cfg.Policy.Iterations = 1
		p.cast["supervisor"] = []any{marks(0.7), marks(0.9)}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Empty(t, got.out.Unverified)
		assert.Equal(t, words(100, "merged").Content, got.out.Article.Content)
		p.cast["supervisor"] = []any{marks(0.7), marks(0.75)}
		got = p.play(t)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.InDelta(t, 0.75, *got.out.Score, 0)
	})
	t.Run("RC52 drafts without a grade are not merged", func(t *testing.T) {
		p := merged(0.9, words(100, "merged"))
		p.cast["supervisor"] = []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Empty(t, got.asked["merger"])
	})
}

func TestRevisedText(t *testing.T) {
	revised := func(answer any) played {
		p := scored(0.9)
		p.cast["planner"] = []any{small()}
		p.cast["article_writer"], p.cast["editor"] = []any{words(100, "one")}, []any{answer}
		return p.play(t)
	}
	t.Run("RC53 too short a revision is dropped, and its findings stay", func(t *testing.T) {
		for _, answer := range []any{research.Draft{Content: "Looks good, no changes."}, words(59, "edited")} {
			got := revised(answer)
			require.NoError(t, got.err)
			assert.Equal(t, words(100, "one").Content, got.out.Article.Content)
			w := got.warning(t, "research/text-dropped")
			assert.Equal(t, "editor", w.Who)
			assert.Contains(t, w.Message, "words of 100: the text stays")
			require.Len(t, got.out.Course.Quality, 1)
			assert.JSONEq(t, string(agent.JSON(answer)), string(got.out.Course.Quality[0].Payload))
			assert.Empty(t, got.out.Course.Writing[0].RevisedBy)
		}
	})
	t.Run("RC53 0.6 of the words are a revision", func(t *testing.T) {
		got := revised(words(60, "edited"))
		require.NoError(t, got.err)
		assert.Equal(t, words(60, "edited").Content, got.out.Article.Content)
		assert.Empty(t, got.out.Warnings)
	})
	t.Run("RC53 unchanged is no revision, and no warning", func(t *testing.T) {
		for _, answer := range []any{`{"unchanged":true,"notes":"fine"}`, research.Draft{Content: "Unchanged."}, "unchanged"} {
			got := revised(answer)
			require.NoError(t, got.err)
			assert.Equal(t, words(100, "one").Content, got.out.Article.Content)
			assert.Empty(t, got.out.Warnings)
		}
	})
}

func TestFacts(t *testing.T) {
	// A run that wants 2,000 words and 10 sources, and whose critic always says 1.0.
	counted := func(wrote, found int) project {
		p := scored(1).full()
		p.brief.MinSources = 10
		p.cast["planner"] = []any{small()}
		p.cast["article_writer"], p.cast["web_search"] = []any{words(wrote, "word")}, []any{many(found)}
		return p
	}
	for _, tt := range []struct {
		name         string
		words, found int
		lacks        string
	}{
		{"one word and no source", 1, 0, "1 of 2000 words and 0 of 10 sources"},
		{"less than half of the words", 999, 10, "999 of 2000 words"},
		{"fewer than half of the sources", 2000, 4, "4 of 10 sources"},
	} {
		t.Run("RC54 "+tt.name+" do not pass, whatever the marks", func(t *testing.T) {
			got := counted(tt.words, tt.found).play(t)
			require.NoError(t, got.err)
			assert.Equal(t, orchestrator.Partial, got.out.Status)
			assert.Equal(t, "there are only "+tt.lacks, got.warning(t, "research/short").Message)
			assert.NotContains(t, got.codes(), "research/below-target")
			assert.Equal(t, []string{"article"}, got.out.Unverified)
			assert.Contains(t, got.out.Article.Content, ", with only "+tt.lacks+"; max iterations reached.")
			require.Len(t, got.asked["planner"], 3)
			assert.Contains(t, input[struct{ Feedback string }](t, got.asked["planner"][1]).Feedback, "there are only "+tt.lacks)
			assert.Contains(t, input[research.WorkerInput](t, got.asked["article_writer"][1]).Feedback, "there are only "+tt.lacks)
		})
	}
	t.Run("RC54 a Gate of the host does not pass them either", func(t *testing.T) {
		p := counted(1, 10)
		p.cfg.Rules.Gate = grading.GateWith(func(grading.Standing) grading.Verdict { return grading.Complete })
		got := p.play(t)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Len(t, got.state.History, 3)
	})
	t.Run("RC54 nor an assumed score", func(t *testing.T) {
		p := counted(1, 10)
		p.cfg.Policy.AssumeScore = new(1.0)
		p.cast["supervisor"] = []any{errBoom}
		assert.Equal(t, orchestrator.Partial, p.play(t).out.Status)
	})
	for _, tt := range []struct {
		name            string
		words, found    int
		article, source float64
	}{
		{"half of both", 1000, 5, 0.833333, 0.833333}, // (1 + 1/2 + 1) / 3
		{"0.8 of the words", 1600, 10, 0.933333, 1},
		{"0.7 of the sources", 2000, 7, 1, 0.9},
		{"more than was wanted", 3000, 20, 1, 1},
	} {
		t.Run("RC54 "+tt.name+" bound the marks", func(t *testing.T) {
			got := counted(tt.words, tt.found).play(t)
			require.NoError(t, got.err)
			assert.Equal(t, orchestrator.Completed, got.out.Status)
			assert.InDelta(t, tt.article, got.out.Quality["article"], 0)
			assert.InDelta(t, tt.source, got.out.Quality["source"], 0)
			assert.InDelta(t, 1, got.out.Quality["factual"], 0)
			assert.InDelta(t, 1, got.out.Quality["writing"], 0)
			assert.InDelta(t, grading.Round6(0.30*tt.article+0.25*tt.source+0.45), *got.out.Score, 1e-6)
		})
	}
	t.Run("RC54 the marks that a Grader of the host keeps are not changed", func(t *testing.T) {
		kept := grading.Marks{{Name: "article", Value: 1}}
		p := counted(1200, 10)
		p.cfg.Rules.Scorer = grading.Weighted{"article": 1}
		p.cfg.Rules.Grader = orchestrator.GraderFunc[research.Work, research.Grade](func(*orchestrator.Context, research.Work) (research.Grade, error) {
			return research.Grade{Marks: kept}, nil
		})
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Less(t, *got.out.Score, 0.9)
		assert.InDelta(t, 1, kept[0].Value, 0)
	})
	t.Run("RC54 a lower mark stays", func(t *testing.T) {
		p := counted(1000, 10)
		p.cast["supervisor"] = []any{marks(0.8)}
		got := p.play(t)
		assert.InDelta(t, 0.8, got.out.Quality["article"], 0)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
	})
	t.Run("RC54 a whole text stands before a short one with a higher score", func(t *testing.T) {
		p := counted(2000, 10)
		p.cfg.Policy.Iterations = 2
		p.cast["article_writer"] = []any{words(2000, "whole"), words(900, "short")}
		p.cast["supervisor"] = []any{marks(0.7), marks(0.9)}
		got := p.play(t)
		assert.Contains(t, got.out.Article.Content, "whole")
		assert.InDelta(t, 0.7, *got.out.Score, 0)
		assert.NotContains(t, got.codes(), "research/short", "it is about the article")
	})
	t.Run("RC54 another share, or none", func(t *testing.T) {
		p := counted(1200, 10)
		p.cfg.Policy.MinShare = 0.7
		assert.Equal(t, "there are only 1200 of 2000 words", p.play(t).warning(t, "research/short").Message)
		p = counted(1, 0)
		p.cfg.Policy.MinShare = orchestrator.None
		got := p.play(t)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.InDelta(t, 1, *got.out.Score, 0)
		for _, share := range []float64{-0.5, 1.1} {
			_, err := research.New(research.Config{Workers: research.Catalogue(), Policy: research.Policy{MinShare: share}})
			require.ErrorContains(t, err, "Policy.MinShare is ")
		}
	})
	t.Run("RC54 RC56 a source that was not read is no evidence", func(t *testing.T) {
		p := counted(2000, 10)
		found := many(10)
		for _, s := range found.Sources[:6] {
			found.Unread = append(found.Unread, research.Unread{URL: s.URL, Reason: "robots"})
		}
		p.cast["web_search"] = []any{found}
		got := p.play(t)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, "there are only 4 of 10 sources", got.warning(t, "research/short").Message)
		assert.Equal(t, "4 distinct sources were found beside 6 that were not read, want 10", got.warning(t, "research/few-sources").Message)
		assert.Len(t, got.out.Sources, 10)
		in := input[map[string]any](t, got.asked["supervisor"][0])
		assert.InDelta(t, 4, in["source_count"], 0)
		assert.InDelta(t, 6, in["missing_sources"], 0)
	})
	t.Run("RC54 a merged text that is long enough mends drafts that are not", func(t *testing.T) {
		p := scored(0.8, 1).merged(words(1200, "merged")).full()
		p.cfg.Policy.Iterations = 1
		p.cast["article_writer"], p.cast["second"] = []any{words(500, "one")}, []any{words(400, "two")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Equal(t, 1200, got.out.Article.Words)
		assert.NotContains(t, got.codes(), "research/short")
	})
	t.Run("RC54 a merged text as short as its drafts does not pass, whatever its marks", func(t *testing.T) {
		p := scored(0.8, 1).merged(words(900, "merged")).full()
		p.cfg.Policy.Iterations = 1
		p.cast["article_writer"], p.cast["second"] = []any{words(500, "one")}, []any{words(400, "two")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.NotNil(t, got.out.Drafts, "its score is higher")
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, "there are only 900 of 2000 words", got.warning(t, "research/short").Message)
	})
	t.Run("RC54 feedback names what is short once", func(t *testing.T) {
		p := counted(2000, 4)
		p.cfg.Policy.Iterations = 2
		got := p.play(t)
		require.Len(t, got.asked["planner"], 2)
		told := string(got.asked["planner"][1].Input)
		assert.Contains(t, told, "there are only 4 of 10 sources")
		assert.Equal(t, 1, strings.Count(told, "4 of 10 sources"))
	})
	t.Run("RC54 the merger's text is counted, too", func(t *testing.T) {
		p := scored(0.8, 1).merged(words(900, "merged")).full()
		p.cast["article_writer"], p.cast["second"] = []any{words(1400, "one")}, []any{words(600, "two")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.out.Article.Content, "one", "900 words are short of half")
		assert.Equal(t, orchestrator.Completed, got.out.Status)
	})
	for text, want := range map[string]int{
		"three words — here": 4, "": 0, "大規模言語模型の記事": 5, "AI 的发展": 3, "ภาษาไทย": 4, "naïve\u0301 x": 2,
	} {
		t.Run("RC54 words of "+text, func(t *testing.T) {
			p := scored(0.9)
			p.cast["article_writer"] = []any{research.Draft{Content: text + " end"}}
			assert.Equal(t, want+1, p.play(t).out.Article.Words)
		})
	}
}
